#!/usr/bin/env python3
"""Device work that is hard to show: every count of a file adds up with what stands in it."""
import collections
import re
import subprocess
import sys

from jobs import Checks, Place, TRACEAGENT
from places import BUILD
from trace_file import SPILL, Trace

ODD_WORK = BUILD / "programs/odd_work"
SCRIPT = 'kernels: {default: 20us, "*slow*": 30ms, "*zero*": 0us}\n'
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
AT_WAITS = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize",
            "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=3,repeat=1"}
checks = Checks()
check = checks.check


def traced(place, *words, **options):
    (place.path / "script.yaml").write_text(SCRIPT)
    ended = place.run([ODD_WORK, *words], place.agent(**{
        "LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "SIMGPU_SCRIPT": place.path / "script.yaml",
        **AT_WAITS, **options}))
    check(ended.code == 0, f"the job: {ended}")
    return Trace(place.path / "job/traces/node0.json"), ended


def check_arrows(trace, what):
    starts, ends = ([e["id"] for e in trace.events if e["ph"] == phase] for phase in "sf")
    check(starts and sorted(starts) == sorted(ends) and len(set(starts)) == len(starts), f"{what}: arrows' ends")


def check_lanes(trace, what):
    last = collections.defaultdict(int)
    for event in trace.events:
        if event["ph"] == "X" and event["cat"] in GPU:
            lane = event["pid"], event["tid"]
            check(trace.begin_ns(event) >= last[lane], f"{what}: {event['name']} overlaps on its lane")
            last[lane] = trace.end_ns(event)


def check_counts(trace, what):
    """No graph here: each launch has one piece of work, or a reason why not."""
    work = sum(event["ph"] == "X" and event["cat"] in GPU for event in trace.events)
    sums = collections.Counter()
    for about in trace.about:
        device = about["device"]
        sums += collections.Counter({"launches": device["launches"], "work": device["work"],
                                     "alone": sum(device["launches_without_work"].values()),
                                     "orphans": sum(device["work_without_launch"].values()),
                                     "late": about["dropped"].get("device_late", 0),
                                     "said late": device["launches_without_work"].get("late", 0)})
        check(not device["work_without_launch"].get("unknown") and not device["launches_without_work"].get("unknown"),
              f"{what}: a riddle: {device}")
    check(sums["work"] == work, f"{what}: {work} pieces of work shown, {sums}")
    check(sums["launches"] - sums["alone"] == sums["work"] - sums["orphans"], f"{what}: {sums}")
    check(sums["late"] == sums["said late"], f"{what}: {sums}")
    print(f"{what}: {dict(sums)}")
    return sums


def check_all(trace, what):
    check_arrows(trace, what)
    check_lanes(trace, what)
    return check_counts(trace, what)


def test_names_and_errors():
    with Place() as place:
        trace, _ = traced(place, 6, 3)
        check(check_all(trace, "names")["late"] == 0, "nothing is late")
        check(list(trace.problems()) == [], f"{list(trace.problems())}")
        names = collections.Counter(event["name"] for event in trace.events if event.get("cat") == "kernel")
        check(names['a "quoted" \\ name\n\ttab \x01 <T>'] == 3 and names["zero_kernel"] == 12, f"{names}")
        errors = {(e["name"], e["args"]["result"], e["args"].get("error")) for e in trace.events
                  if e["ph"] == "X" and e["args"].get("result")}
        check(errors == {("cudaMalloc", 2, "cudaErrorMemoryAllocation")}, f"{errors}")
        done = subprocess.run([TRACEAGENT, "check", place.path / "job/traces/node0.json"], capture_output=True, text=True)
        check(done.returncode == 0 and "Nothing is missing." in done.stdout, f"check: {done}")


def test_lanes():
    for what, words, lanes in (("devices", (6, 2, "all-devices"), 8), ("streams", (5, 6000), 6000)):
        with Place() as place:
            trace, _ = traced(place, *words)
            check_all(trace, what)
            names = {e["args"]["name"] for e in trace.document["traceEvents"]
                     if e["name"] == "thread_name" and e["tid"] < SPILL}
            streams = {name for name in names if re.match(r"GPU \d+ stream ", name)}
            check(len(streams) >= lanes, f"{what}: {len(streams)} lanes")
            check(lanes != 8 or len({name.split()[1] for name in streams}) == 8, f"{what}: {streams}")


def test_backlog():
    """Windows back to back, and more work in the queue than device.settle waits for: it is lost, or
    there, and never both."""
    with Place() as place:
        trace, ended = traced(place, 30, 3, "no-wait", TRACEAGENT_STEP_MARK="call:cudaMemcpyAsync:2",
                              TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=2,repeat=0", TRACEAGENT_DEVICE_SETTLE="50ms")
        sums = check_all(trace, "backlog")
        check(f"{sums['late']} lost" in ended.err, f"said: {ended.err}")


for test in (test_names_and_errors, test_lanes, test_backlog):
    test()
sys.exit(checks.end())
