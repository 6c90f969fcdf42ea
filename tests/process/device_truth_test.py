#!/usr/bin/env python3
"""The device's work in the demo's node file against what the simulated GPU says that it did.

usage: device_truth_test.py BUILD DEPS plain|concurrent|windows|drops|untimed|all_calls|all_calls_per_thread
`all_calls…`: that program instead, with a copy of every kind, a captured graph and NCCL's groups.
`plain` leaves its files in BUILD/tests/device_demo for the tests of what other people's programs see.
"""

import shutil

from device_truth import DeviceComparison, lane_problems
from places import ARGUMENTS, BUILD
from traced_run import report, run_ranks

KEPT = BUILD / "tests/device_demo"

WAITS_KIND = 38  # CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
RANKS = 1 if ARGUMENTS[0].startswith("all_calls") else 4
# Slow enough that CUPTI is on before the warm-up is over, on a busy machine too.
KERNELS = "kernels: {default: 200us}\n"
PAUSE_MS = 500
SCHEDULE = "skip_first=2,wait=0,warmup=8,active=4,repeat=1"
SCRIPTS = {
    "plain": KERNELS,
    "concurrent": KERNELS + "concurrent: {kernels: 0.5}\n",
    "drops": KERNELS + "faults: [{cupti_drops: {share: 0.05}}]\n",
    "untimed": KERNELS + "faults: [{cupti_untimed: {share: 0.05}}]\n",
}


# The whole program, with CUPTI from its first call on: the schedule begins with the first step.
NO_STEPS = {"TRACEAGENT_STEP_MARK": "nvtx:nothing", "TRACEAGENT_SCHEDULE": "skip_first=0,wait=0"}
MORE = {
    # For HTA too: its critical path wants them.
    "plain": {"TRACEAGENT_DEVICE_WAITS": "true"},
    # Windows without a gap; what a step launches runs far into the next one's time.
    # CUPTI is on since the start, and stays so through 200 ms that nobody wants it: few steps before the first window.
    "windows": {"TRACEAGENT_SCHEDULE": "skip_first=0,wait=0,warmup=0,active=1,repeat=8"},
    # CUPTI's count of what it dropped has no times: the whole program is one window, for want of steps.
    "drops": NO_STEPS,
    "untimed": NO_STEPS,
    "all_calls": NO_STEPS,
    "all_calls_per_thread": NO_STEPS,
}


def run(folder, case):
    script = folder / "script.yaml"
    script.write_text(SCRIPTS.get(case, KERNELS))
    libraries = f"{BUILD}/sim/lib:{BUILD}/sim/cupti"
    variables = {"LD_LIBRARY_PATH": libraries, "SIMGPU_SCRIPT": script, "TRACEAGENT_SCHEDULE": SCHEDULE}
    demo = [BUILD / "bin/train_demo", "--steps", 20]
    words = demo if RANKS > 1 else [BUILD / "programs" / case, PAUSE_MS]
    return run_ranks(folder, RANKS, words, **{**variables, **MORE.get(case, {})})


def about_device(trace):
    """[(rank, what its file says of the device side)], of every cycle."""
    return [(about["identity"]["rank"], about["device"]) for about in trace.about]


def complete_problems(comparison, trace):
    """All that was launched in the window is there, and nothing else was counted."""
    launched = comparison.launched_here()
    yield from (f"not in the trace: {record}" for record in comparison.missing(launched)[:10])
    late = sum(event["args"].get("launched before the window", False) for event, _ in comparison.pairs)
    print(f"{len(comparison.pairs)} pieces of device work are those of the truth, {len(launched)} launched "
          f"in the window, {late} before it")
    if len(launched) < 25:
        yield "too little work to compare"
    for rank, device in about_device(trace):
        if device["source"] != "cupti" or device["launches_without_work"].keys() - {"no_work"}:
            yield f"rank {rank}: {device}"


def missing_but_for(state, comparison):
    for record in comparison.missing(comparison.launched_here()):
        if record["cupti"] not in (state, "off"):  # off: launched before CUPTI was on
            yield f"not in the trace though not {state}: {record}"


def dropped_problems(comparison, trace, truth):
    """What the traces say is lost is what CUPTI dropped."""
    by_truth = {record["rank"]: record["dropped"] for record in truth.records if record["kind"] == "cupti"}
    told = {about["identity"]["rank"]: about["dropped"].get("device_dropped", 0) for about in trace.about}
    print(f"dropped by the truth {by_truth}, by the trace {told}")
    if told != by_truth or not sum(told.values()):
        yield f"{told} told as dropped, {by_truth} were"
    yield from missing_but_for("dropped", comparison)


def untimed_problems(comparison, trace):
    """Work that CUPTI could not time is in no trace, and each piece of it is counted."""
    true = {rank: sum(record["cupti"] == "untimed" for record in records)
            for rank, records in comparison.work.items()}
    told = {about["identity"]["rank"]: about["dropped"].get("device_untimed", 0) for about in trace.about}
    print(f"untimed by the truth {true}, by the trace {told}")
    if told != true or not all(told.values()):
        yield f"{told} told as untimed, {true} were"
    yield from missing_but_for("untimed", comparison)
    yield from (f"unexplained: {device}" for _, device in about_device(trace)
                if device["launches_without_work"].get("unknown") or device["launches_without_work"].get("late"))


def waits_problems(trace, truth, are_wanted):
    """Of waits CUPTI is asked only where the user wants that: on a GPU it makes each later call slower."""
    waits = [event["name"] for event in trace.events if event.get("cat") == "cuda_sync"]
    was_asked = any(record["kind"] == "cupti_enabled" and record["activity"] == WAITS_KIND for record in truth.records)
    print(f"{len(waits)} waits as CUPTI tells of them")
    if bool(waits) != are_wanted or was_asked != are_wanted:
        yield f"waits {sorted(set(waits))}, CUPTI asked: {was_asked}, by the options: {are_wanted}"


def came_late(trace):
    """On a busy machine CUPTI may come on, or again, when the steps have begun; the file says so."""
    return any(device.get("recording_since_ns", 0) > trace.windows(rank)[0][0] or
               "after_recording" in device["launches_without_work"] for rank, device in about_device(trace))


def run_in_time(folder, case):
    for attempt in range(3):
        place = folder / str(attempt)
        place.mkdir()
        done = run(place, case)
        if MORE.get(case) == NO_STEPS or not came_late(done.trace()):
            break
        print("CUPTI came on within the window: again")
    return done


def compared(folder):
    case = ARGUMENTS[0]
    done = run_in_time(folder, case)
    if case == "plain":
        shutil.rmtree(KEPT, ignore_errors=True)
        shutil.copytree(done.folder, KEPT)
    trace, truth = done.trace(), done.truth()
    if case not in ("drops", "untimed"):
        yield from trace.problems()
    comparison = DeviceComparison(trace, truth)
    yield from comparison.calls.problems
    yield from comparison.problems
    yield from comparison.value_problems()
    yield from lane_problems(trace)
    yield from waits_problems(trace, truth, are_wanted="TRACEAGENT_DEVICE_WAITS" in MORE.get(case, {}))
    if case == "drops":
        yield from dropped_problems(comparison, trace, truth)
        return
    if case == "untimed":
        yield from untimed_problems(comparison, trace)
        return
    yield from comparison.arrow_problems()
    yield from complete_problems(comparison, trace)
    spilled = {event["tid"] for event, _ in comparison.pairs if event["tid"] > 10_000_000}
    print(f"{len(spilled)} lanes beyond the streams' own")
    if bool(spilled) != (case == "concurrent"):
        yield f"lanes beyond the streams' own: {spilled}"


report(compared)
