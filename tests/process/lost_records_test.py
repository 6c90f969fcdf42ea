#!/usr/bin/env python3
"""What finds no room in a ring that is far too small: each cycle tells of its own, and none has a riddle."""
import sys

from jobs import Checks, Place
from places import BUILD
from trace_file import Trace

RIDDLE = "unknown"
checks = Checks()


def cycles_of(schedule, steps, script="", **options):
    """What is said of the cycles, in their order, and when each had its file: equally long, and the ring is full before
    each is over."""
    with Place() as place:
        (place.path / "script.yaml").write_text(script)
        ended = place.run([BUILD / "bin/train_demo", "--steps", steps, "--print-every", 10000], place.agent(**{
            "LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "TRACEAGENT_RING_SIZE": "256KiB",
            "TRACEAGENT_BUDGET_OVERHEAD": "null", "TRACEAGENT_STEP_MARK": "auto", "TRACEAGENT_SCHEDULE": schedule,
            "SIMGPU_SCRIPT": place.path / "script.yaml", **options}))
        checks.check(ended.code == 0, f"the job: {ended}")
        trace = Trace(place.path / "job/traces/node0.json")
        for about in trace.about:
            window = about["window"]
            file = next(place.path.glob(f"job/traces/ep*-ba{window['last_step'] + 1}-rank0.json"))
            window["file_ns"] = file.stat().st_mtime_ns
            window["job_end_ns"] = (place.path / "job/traces/node0.json").stat().st_mtime_ns
        return sorted(trace.about, key=lambda about: about["window"]["cycle"])


def test_each_tells_of_its_own(schedule, steps, cycles):
    abouts = cycles_of(schedule, steps)
    checks.check(len(abouts) == cycles, f"{schedule}: {len(abouts)} cycles")
    lost = [about["dropped"].get("device_ring_full", 0) for about in abouts]
    print(f"{schedule}: {lost}")
    checks.check(min(lost) * 2 > max(lost), f"{schedule}: equal windows have lost {lost}")
    for about in abouts:
        device = about["device"]
        checks.check(RIDDLE not in device["launches_without_work"] and RIDDLE not in device["work_without_launch"],
                     f"{schedule}: a riddle beside {about['dropped']}: {device}")


def test_what_was_lost_is_not_waited_for():
    """A window waits as long as work of it may come, and no longer: not until the job's end."""
    abouts = cycles_of("wait=900,warmup=1,active=300,repeat=2", 9000, "kernels: {default: 40us}\n",
                       TRACEAGENT_DEVICE_SETTLE="60s")
    first = abouts[0]["window"]
    late_s, rest_s = ((end_ns - first["end_ns"]) / 1e9 for end_ns in (first["file_ns"], first["job_end_ns"]))
    print(f"the first cycle's file {late_s:.3f} s after its end, the job's end after {rest_s:.3f} s")
    checks.check(abouts[0]["dropped"].get("device_ring_full", 0) > 0, f"it lost nothing: {abouts[0]['dropped']}")
    checks.check(late_s < rest_s / 2, f"it waited {late_s} s of {rest_s} s for what was lost")


test_each_tells_of_its_own("warmup=1,active=300,repeat=2", 700, 2)
test_each_tells_of_its_own("wait=600,warmup=1,active=300,repeat=3", 3000, 3)
test_what_was_lost_is_not_waited_for()
sys.exit(checks.end())
