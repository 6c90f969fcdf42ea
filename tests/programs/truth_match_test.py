#!/usr/bin/env python3
"""Every host call of the traced window against the simulated GPU's truth: none missing, none twice.

usage: truth_match_test.py BUILD_FOLDER     (0: good, 1: not, 77: mpirun is missing)
"""
import bisect
import collections
import sys

from traced_job import TracedJob, skip_without

RANKS = 4
# What the demo calls in every step; each must be there.
WANTED = {"cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync",
          "cudaEventSynchronize", "ncclAllReduce"}
# Anchors of two clocks: how far begins may lie apart. Calls of one function lie further apart.
CLOCK_NS = 20_000
DURATION_NS = 1000


def public_name(function):
    """nvcc 13's launches are shown under the name that the consumers of traces count."""
    return function[2:] if function.startswith("__cudaLaunchKernel") else function


def calls_of_truth(truth):
    calls = collections.defaultdict(list)
    for record in truth:
        if record["kind"] == "call":
            key = record["rank"], record["tid"], public_name(record["function"])
            calls[key].append((record["begin_ns"], record["end_ns"]))
    return {key: sorted(of_key) for key, of_key in calls.items()}


def calls_of_trace(job):
    calls = collections.defaultdict(list)
    for event in job.events():
        if event["cat"] in ("cuda_runtime", "nccl"):
            key = event["pid"], event["tid"], public_name(event["name"])
            calls[key].append((event["begin_ns"], event["end_ns"]))
    return {key: sorted(of_key) for key, of_key in calls.items()}


def best_place(traced, true):
    """Where the traced calls lie among the true ones: the place with the smallest differences."""
    near = bisect.bisect_left(true, traced[0])
    places = range(max(0, near - 3), min(len(true) - len(traced), near + 3) + 1)
    return min(places, default=None, key=lambda place: sum(
        abs(a[0] - b[0]) for a, b in zip(traced, true[place:])))


def compare(key, traced, true, window, durations):
    place = best_place(traced, true)
    if place is None:
        yield f"{key}: {len(traced)} calls traced, {len(true)} made"
        return
    for (begin, end), (true_begin, true_end) in zip(traced, true[place:]):
        if abs(begin - true_begin) > CLOCK_NS:
            yield f"{key}: a call at {begin} was made at {true_begin}"
        durations.append((end - begin) - (true_end - true_begin))
    begin, end = window
    for missed, _ in true[:place] + true[place + len(traced):]:
        if begin + CLOCK_NS <= missed < end - CLOCK_NS:
            yield f"{key}: the call at {missed} of the window {window} is missing"


def problems_of(job):
    truth, trace, steps = calls_of_truth(job.truth), calls_of_trace(job), job.steps()
    durations = []
    for key, traced in trace.items():
        rank = key[0]
        window = steps[rank][0][1], steps[rank][-1][2]
        yield from compare(key, traced, truth.get(key, []), window, durations)
    for rank in range(RANKS):
        found = {name for of_rank, _, name in trace if of_rank == rank}
        if WANTED - found:
            yield f"rank {rank}: no call of {sorted(WANTED - found)}"
    far = [difference for difference in durations if abs(difference) > DURATION_NS]
    print(f"{len(durations)} calls; durations differ by {min(durations)} to {max(durations)} ns, "
          f"{len(far)} of them by more than {DURATION_NS}")
    # The machine may take the processor away between the agent's tick and the simulation's.
    if len(far) * 50 > len(durations):
        yield f"{len(far)} of {len(durations)} durations are wrong"


def main(build):
    skip_without("mpirun")
    job = TracedJob(build, RANKS, [f"{build}/bin/train_demo"])
    problems = [job.problem()] if job.problem() else list(problems_of(job))
    print(*problems[:20], sep="\n")
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
