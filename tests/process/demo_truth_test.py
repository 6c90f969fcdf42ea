#!/usr/bin/env python3
"""The demo's node file against what the simulated GPU says that happened, call by call."""

import collections
import statistics

from comparison import CLOCK_ERROR_NS, Comparison, argument_problems
from places import BUILD
from traced_run import report, run_ranks

RANKS, BUCKETS = 4, 4
STEPS = [1, 2, 3, 4]  # of the default schedule: one of warm-up, four recorded


def step_problems(trace):
    for rank in range(RANKS):
        if list(trace.steps(rank)) != STEPS:
            yield f"rank {rank}: steps {list(trace.steps(rank))}"
        edges = [edge for step in trace.steps(rank).values() for edge in step]
        if edges != sorted(edges):
            yield f"rank {rank}: steps overlap: {trace.steps(rank)}"
        (window,) = trace.windows(rank)
        if (window[2], window[3]) != (STEPS[0], STEPS[-1]):
            yield f"rank {rank}: window {window}"


def collective_problems(trace):
    """Every collective of every step on all ranks, equal in all that a rank cannot have for itself."""
    ranks_of = collections.defaultdict(list)
    for event in trace.events:
        if event.get("cat") == "nccl" and "Seq" in event["args"]:
            rank, begin = event["pid"], trace.begin_ns(event)
            step = [k for k, (first, last) in trace.steps(rank).items() if first <= begin < last]
            args = event["args"]
            ranks_of[tuple(step), args["comm hash"], args["Seq"], event["name"], args["In msg nelems"]].append(rank)
    for key, ranks in ranks_of.items():
        if sorted(ranks) != list(range(RANKS)) or len(key[0]) != 1:
            yield f"collective (steps, hash, Seq, …) {key} on ranks {ranks}"
    in_step = collections.Counter(key[0] for key in ranks_of)
    if in_step != {(step,): BUCKETS for step in STEPS}:
        yield f"collectives in steps: {in_step}"
    print(f"{len(ranks_of)} collectives, each on {RANKS} ranks")


def duration_problems(comparison):
    errors = comparison.errors_ns()
    longer = sorted(before + after for before, after in errors)
    close = sum(abs(error) <= 1000 for error in longer) / len(longer)
    print(f"durations: {100 * close:.2f} % within 1 us of the truth, median {statistics.median(longer):+.0f} ns, "
          f"from {longer[0]:+} to {longer[-1]:+} ns")
    # The rest: threads that lost their core between the agent's clock and the simulator's, on a machine whose
    # host is busy up to four in a hundred with nothing else at work here. What is wrong with many calls moves
    # the median, or does not enclose them.
    if close < 0.95:
        yield f"only {100 * close:.2f} % of the durations are within 1 us of the truth"
    if abs(statistics.median(longer)) >= 500:
        yield f"the median duration is {statistics.median(longer)} ns off"
    for error, (event, call) in zip(errors, comparison.pairs):
        if min(error) < -CLOCK_ERROR_NS:
            yield f"does not enclose the simulator's call by {error} ns: {event}, {call}"


def compared_problems(run):
    trace = run.trace()
    yield from trace.problems()
    yield from step_problems(trace)
    yield from collective_problems(trace)
    comparison = Comparison(trace, run.truth())
    print(f"{len(comparison.pairs)} calls of {len(trace.calls())} threads are those of the truth, "
          f"{comparison.edge_calls} lie on a window's edge")
    yield from comparison.problems
    yield from argument_problems(comparison.pairs)
    if len(comparison.pairs) < RANKS * len(STEPS) * 30:
        yield "too few calls to compare"
    return list(duration_problems(comparison))


def demo(folder):
    # A busy machine may take the core away from more calls than that: three tries for the durations, one for
    # everything else.
    for attempt in range(3):
        place = folder / str(attempt)
        place.mkdir()
        # CUPTI works inside the calls, which the simulator's truth of them leaves out. And four ranks touch their
        # rings' memory on the same few cores while they make the first calls: a small one is soon touched.
        run = run_ranks(place, RANKS, [BUILD / "bin/train_demo", "--steps", 20], TRACEAGENT_DOORS_CUPTI="false",
                        TRACEAGENT_RING_SIZE="8MiB")
        wrong_durations = yield from compared_problems(run)
        if not wrong_durations:
            return
    yield from wrong_durations


report(demo)
