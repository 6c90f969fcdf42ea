#!/usr/bin/env python3
"""What finds no room in a ring that is far too small: each cycle tells of its own, and none has a riddle."""
import sys

from jobs import Checks, Place
from places import BUILD
from trace_file import Trace

RIDDLE = "unknown"
checks = Checks()


def cycles_of(schedule, steps):
    """What is said of the cycles, in their order: equally long, and the ring is full before each is over."""
    with Place() as place:
        ended = place.run([BUILD / "bin/train_demo", "--steps", steps, "--print-every", 10000], place.agent(**{
            "LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "TRACEAGENT_RING_SIZE": "256KiB",
            "TRACEAGENT_BUDGET_OVERHEAD": "null", "TRACEAGENT_STEP_MARK": "auto", "TRACEAGENT_SCHEDULE": schedule}))
        checks.check(ended.code == 0, f"the job: {ended}")
        trace = Trace(place.path / "job/traces/node0.json")
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


test_each_tells_of_its_own("warmup=1,active=300,repeat=2", 700, 2)
test_each_tells_of_its_own("wait=600,warmup=1,active=300,repeat=3", 3000, 3)
sys.exit(checks.end())
