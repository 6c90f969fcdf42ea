#!/usr/bin/env python3
"""CUPTI's life in a process: on for a window and off after it, and every odd end of a process.

usage: device_session_test.py BUILD DEPS
"""

import collections
import signal
import sys
import time

from jobs import PROGRAMS, STEADY, TIMEOUT, TRACEAGENT, Checks, Place, end_of, truth_of
from places import BUILD, SANITIZED

checks = Checks()
check = checks.check
SIMULATED = f"{BUILD}/sim/lib:{BUILD}/sim/cupti:{PROGRAMS}"
# No step: the whole program is the window, with CUPTI from its first call on.
KEPT_FROM_START = {"TRACEAGENT_STEP_MARK": "nvtx:nothing", "TRACEAGENT_SCHEDULE": "wait=0"}


def variables(place, **more):
    return {"LD_LIBRARY_PATH": SIMULATED, "SIMGPU_TRUTH": place.path / "{pid}.truth",
            "TRACEAGENT_OUTPUT_FOLDER": "out", **more}


def slices(trace, category):
    return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] == category]


def told(place):
    """The truth, by kind."""
    kinds = collections.defaultdict(list)
    for record in truth_of(*place.path.glob("*.truth")):
        kinds[record["kind"]].append(record)
    return kinds


def rank_file(place):
    names = [name for name in place.files() if name.startswith("out/") and "rank0" in name]
    return place.trace(names[0]) if check(len(names) == 1, f"one rank file: {names}") else None


def absolute(trace, event):
    """Begin and end in ns since the epoch."""
    begin = trace["baseTimeNanoseconds"] + round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def are_in_truth(trace, events, works):
    begins = {work["begin_ns"] for work in works}
    return all(any(absolute(trace, event)[0] + d in begins for d in (-1, 0, 1)) for event in events)


def test_on_for_the_window_alone():
    with Place() as place:
        environment = variables(place, TRACEAGENT_SCHEDULE="skip_first=100,wait=0,warmup=60,active=10,repeat=1")
        ended = place.run([STEADY, 300, 10, 5000], place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        truth, trace = told(place), rank_file(place)
        begin, end = trace["traceagent"]["window"]["begin_ns"], trace["traceagent"]["window"]["end_ns"]
        intervals = truth["cupti_enabled"]
        check(intervals, "CUPTI was on")
        check(all(i["end_ns"] != 0 for i in intervals), f"CUPTI is off at the end: {intervals}")
        check(any(i["begin_ns"] < begin and i["end_ns"] > end for i in intervals), f"{begin} {end} {intervals}")
        last = max(work["begin_ns"] for work in truth["device"])
        check(all(i["end_ns"] < last for i in intervals), "and off long before the end")
        check(sum(c["subscriptions"] for c in truth["cupti"]) == 1, f"subscribed {truth['cupti']}")
        # Ten sets a step of 5 ms: not long before the first warm-up, since its cost stays with a process.
        of_skipped = sorted(work["launch_begin_ns"] for work in truth["device"] if work["work"] == "set")[:600]
        check(all(i["begin_ns"] > of_skipped[-1] for i in intervals), f"on in a skipped step: {intervals[:2]}")
        launched = [w for w in truth["device"] if w["work"] == "set" and begin <= w["launch_begin_ns"] < end]
        found = slices(trace, "gpu_memset")
        print(f"window alone: {len(found)} sets, truth {len(launched)}")
        check(len(launched) == 100 and len(found) >= 100, f"{len(found)} sets, truth {len(launched)}")
        check(are_in_truth(trace, found, truth["device"]), "times are the truth's")


def test_beginning_before_the_schedules():
    """What a program without steps leaves has no device times where the first steps were not wanted."""
    with Place() as place:
        environment = variables(place, **KEPT_FROM_START | {"TRACEAGENT_SCHEDULE": "wait=5,warmup=1"})
        ended = place.run([STEADY, 20, 10, 2000], place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        truth = told(place)
        check(not truth["cupti_enabled"], f"{truth['cupti_enabled']}")
        trace = rank_file(place)
        check(trace["traceagent"]["device"]["source"] == "none", f"{trace['traceagent']['device']}")
        [name] = [name for name in place.files() if name.startswith("out/") and "rank0" in name]
        said = place.run([TRACEAGENT, "check", name], variables(place)).out
        check("CUPTI is on from the schedule's first warm-up step" in said, said)


def test_shut():
    with Place() as place:
        ended = place.run([STEADY, 20, 10, 2000], place.agent(**variables(place, TRACEAGENT_DOORS_CUPTI="false")))
        check(ended.code == 3 and len(ended.lines()) == 1, f"{ended}")
        truth, trace = told(place), rank_file(place)
        check(not truth["cupti_enabled"] and not sum(c["subscriptions"] for c in truth["cupti"]), f"{truth['cupti']}")
        check(not slices(trace, "gpu_memset"), "no device work")


def test_without_a_device_call():
    """A process whose calls need no device must not be the one that starts CUPTI, and CUDA with it."""
    with Place() as place:
        environment = variables(place, **KEPT_FROM_START, TRACEAGENT_VERBOSE="true")
        group = "import ctypes; n = ctypes.CDLL('libnccl.so.2'); n.ncclGroupStart(); n.ncclGroupEnd()"
        ended = place.run([sys.executable, "-c", group], place.agent(**environment))
        check(ended.code == 0 and "CUPTI" not in ended.err, f"{ended}")
        check(len(slices(rank_file(place), "nccl")) == 2, "the program's calls are in the file")
        check(not told(place)["cupti"], "CUPTI was touched")


def test_buffers_asked_for_in_launches():
    with Place() as place:
        script = place.path / "script.yaml"
        script.write_text("faults: [{cupti_requests_in_launches: {}}]\n")
        environment = variables(place, SIMGPU_SCRIPT=script,
                                TRACEAGENT_SCHEDULE="skip_first=5,wait=0,warmup=60,active=10,repeat=1")
        ended = place.run([STEADY, 90, 10, 5000], place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        trace = rank_file(place)
        found = slices(trace, "gpu_memset")
        check(len(found) >= 100, f"{len(found)} sets")
        check(trace["traceagent"]["dropped"] == {}, f"{trace['traceagent']['dropped']}")


def test_device_reset():
    """What the reset's context had done is fetched before it goes."""
    with Place() as place:
        environment = variables(place, **KEPT_FROM_START)
        ended = place.run([PROGRAMS / "all_calls"], place.agent(**environment))
        check(ended.code == 0, f"{ended}")
        lost = sum(c["lost"] for c in told(place)["cupti"])
        check(lost == 0, f"{lost} records lost with their context")


def test_ends():
    """However the process ends in good order, its last work is in the file."""
    for how in ("return",) if SANITIZED else ("return", "os_exit"):
        with Place() as place:
            environment = variables(place, **KEPT_FROM_START)
            command = [STEADY, 30, 10, 5000] if how == "return" else \
                [sys.executable, "-c", PYTHON_JOB, f"{BUILD}/sim/lib/libcudart.so.13"]
            ended = place.run(command, place.agent(**environment))
            check(ended.code == 3, f"{how}: {ended}")
            truth, trace = told(place), rank_file(place)
            sets = [w for w in truth["device"] if w["work"] == "set"]
            delivered = [w for w in sets if w["cupti"] == "delivered"]
            found = slices(trace, "gpu_memset")
            print(f"{how}: {len(found)} sets, truth {len(sets)}")
            check(sets and len(found) == len(delivered), f"{how}: {len(found)}, delivered {len(delivered)}")
            check(sets[-1]["cupti"] == "delivered", f"{how}: the last is {sets[-1]['cupti']}")


PYTHON_JOB = """
import ctypes, os, sys, time
cudart = ctypes.CDLL(sys.argv[1])
memory = ctypes.c_void_p()
cudart.cudaMalloc(ctypes.byref(memory), 64)
for step in range(100):
    cudart.cudaMemsetAsync(memory, step, 64, None)
    time.sleep(0.005)
cudart.cudaDeviceSynchronize()
os._exit(3)
"""


def test_killed():
    with Place() as place:
        environment = variables(place, TRACEAGENT_SCHEDULE="wait=2,warmup=60,active=1000,repeat=1")
        process = place.start([STEADY, 1000, 10, 5000], place.agent(**environment))
        deadline = time.monotonic() + TIMEOUT
        while len(told(place)["device"]) < 1000 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        check(end_of(process).code == -9, "killed")
        recovering = place.agent(**environment)
        del recovering["LD_PRELOAD"]
        result = place.run([TRACEAGENT, "recover"], recovering)
        check(result.code == 0, f"{result}")
        trace, truth = rank_file(place), told(place)
        found = slices(trace, "gpu_memset")
        print(f"killed: {len(found)} sets, truth {sum(w['work'] == 'set' for w in truth['device'])}")
        check(len(found) > 100, f"{len(found)} sets")
        check(are_in_truth(trace, found, truth["device"]), "times are the truth's")


def test_hanging_flush():
    """A CUPTI that never comes back holds neither the job's end nor its file."""
    with Place() as place:
        hanging = f"{PROGRAMS}/hanging_cupti:{BUILD}/sim/lib:{PROGRAMS}"
        environment = variables(place, LD_LIBRARY_PATH=hanging, TRACEAGENT_EXIT_TIMEOUT="2s",
                                TRACEAGENT_DEVICE_SETTLE="200ms", TRACEAGENT_VERBOSE="true",
                                TRACEAGENT_SCHEDULE="wait=0,warmup=60,active=10,repeat=1")
        ended = place.run([STEADY, 90, 10, 5000], place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        check("times of the device from CUPTI" in ended.err, f"it was not used: {ended}")
        trace = rank_file(place)
        check(trace and trace.get("complete") is True, "the file is complete")


def test_end_while_cupti_starts():
    """The job ends while the agent's thread is in a call that switches CUPTI on, or off, and stays there, or comes
    back when the job's end is under way: it ends as ever, with what the host did in its file."""
    hanging = f"{PROGRAMS}/hanging_cupti:{BUILD}/sim/lib:{PROGRAMS}"
    for function in ("cuptiSubscribe", "cuptiActivityEnable", "cuptiActivityDisable"):
        for slow in ({}, {"SLOW_CUPTI": "700"}):
            with Place() as place:
                environment = variables(place, LD_LIBRARY_PATH=hanging, HANGING_CUPTI=function, **slow,
                                        TRACEAGENT_EXIT_TIMEOUT="2s", TRACEAGENT_DEVICE_SETTLE="200ms",
                                        TRACEAGENT_SCHEDULE="wait=0,warmup=2,active=10,repeat=1")
                ended = place.run([STEADY, 20, 10, 5000], place.agent(**environment))
                check(ended.code == 3, f"{function}, {slow}: {ended}")
                trace = rank_file(place)
                check(trace and trace.get("complete") is True, f"{function}, {slow}: the file is not complete: {ended}")
                steps = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
                sets = [event for event in trace["traceEvents"] if event["name"] == "cudaMemsetAsync"]
                check((len(steps), len(sets)) == (10, 100), f"{function}, {slow}: {len(steps)} steps, {len(sets)} sets")
                left = [name for name in place.left_in_memory() if name.endswith(".ring")]
                check(left == [], f"{function}, {slow}: left {left}: {ended}")


def test_windows_while_cupti_starts():
    """All kinds of records are on, and the agent's thread does not come on, as it may be kept from its core: windows
    that are over by then wait for what the device did in them. The job waits half a second at most for that start."""
    with Place() as place:
        script = place.path / "script.yaml"
        script.write_text("faults: [{cupti_slow_callbacks: {time: 900ms}}]\n")
        environment = variables(place, SIMGPU_SCRIPT=script, TRACEAGENT_EXIT_TIMEOUT="60s",
                                TRACEAGENT_DEVICE_SETTLE="20s",
                                TRACEAGENT_SCHEDULE="wait=0,warmup=1,active=3,repeat=3")
        ended = place.run([STEADY, 17, 10, 2000], place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        trace = place.trace("out/node0.json")
        ranks = trace["traceagent"]["merged"]
        windows = [(rank["window"]["begin_ns"], rank["window"]["end_ns"]) for rank in ranks]
        launched = [work for work in told(place)["device"] if work["work"] == "set" and
                    any(begin <= work["launch_begin_ns"] < end for begin, end in windows)]
        found = slices(trace, "gpu_memset")
        print(f"while CUPTI starts: {len(found)} sets, truth {len(launched)}")
        check(len(windows) == 3 and len(launched) == len(found) == 90, f"{len(found)} sets, truth {len(launched)}")
        check(all(work["cupti"] == "delivered" for work in launched), f"{launched[-1]}")
        about = [(rank["device"]["launches_without_work"], rank["dropped"]) for rank in ranks]
        check(about == [({}, {})] * 3, f"missing: {about}")


def test_forked_child():
    """CUPTI is its parent's: the child records its own calls and never touches it."""
    job = PYTHON_JOB.replace("os._exit(3)", """
if os.fork() == 0:
    for step in range(100):
        cudart.cudaMemsetAsync(memory, step, 64, None)
        time.sleep(0.002)
    os._exit(0)
os.wait()
os._exit(3)
""")
    with Place() as place:
        environment = variables(place, **KEPT_FROM_START)
        command = [sys.executable, "-c", job, f"{BUILD}/sim/lib/libcudart.so.13"]
        ended = place.run(command, place.agent(**environment))
        check(ended.code == 3, f"{ended}")
        subscriptions = sorted(c["subscriptions"] for c in told(place)["cupti"])
        check(sum(subscriptions) == 1, f"subscriptions by process: {subscriptions}")
        refusals = [c["refusals"] for c in told(place)["cupti"]]
        check(not any(refusals) and "CUPTI" not in ended.err, f"refusals {refusals}: {ended}")


OF_PYTHON = (test_without_a_device_call, test_forked_child)
for name, test in list(globals().items()):
    if name.startswith("test_") and not (SANITIZED and test in OF_PYTHON):
        print(name, flush=True)
        test()
sys.exit(checks.end())
