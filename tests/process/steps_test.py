#!/usr/bin/env python3
"""Which calls the agent's steps hold, in several cycles: PROGRAM RANKS SCHEDULE FLAG...

The program's step k, counted from 1, is the agent's step k - 1. With --no-nvtx the agent sees calls
only: its steps begin with the first call of the kind that repeats, so that what a step does before
that call counts as the step before's.
"""

import bisect

from comparison import Comparison
from places import ARGUMENTS, BUILD
from traced_run import report, run_ranks

PROGRAM, RANKS, SCHEDULE, *FLAGS = ARGUMENTS
RANKS = int(RANKS)
STEPS = 220
HAS_RANGES = "--no-nvtx" not in FLAGS or PROGRAM == "step_started_ranges"


def wanted_steps():
    """[first, last] of each cycle, by Composer's formula."""
    skip_first, wait, warmup, active, repeat = (
        int(dict(part.split("=") for part in SCHEDULE.split(","))[key])
        for key in ("skip_first", "wait", "warmup", "active", "repeat"))
    cycle = wait + warmup + active
    return [(skip_first + n * cycle + wait + warmup, skip_first + (n + 1) * cycle - 1) for n in range(repeat)]


def schedule_problems(trace):
    cycles = wanted_steps()
    for rank in range(RANKS):
        windows = [window[2:] for window in trace.windows(rank)]
        if windows != cycles:
            yield f"rank {rank}: cycles of steps {windows}, not {cycles}"
        wanted = [step for first, last in cycles for step in range(first, last + 1)]
        if list(trace.steps(rank)) != wanted:
            yield f"rank {rank}: steps {list(trace.steps(rank))}, not {wanted}"


class ProgramSteps:
    """Which of the program's steps a moment of its main thread belongs to."""

    def __init__(self, truth, rank):
        begins, ends = truth.marks(rank, "step_begin"), truth.marks(rank, "step_end")
        self.steps = [(begins[k], ends[k], k - 1) for k in sorted(begins)]

    def at(self, moment_ns):
        """None between steps: in an evaluation."""
        index = bisect.bisect_right(self.steps, (moment_ns,)) - 1
        if index < 0 or moment_ns >= self.steps[index][1]:
            return None
        return self.steps[index][2]


def steps_allowed(event, true_step, has_collectives):
    """Where a call of the program's step may be shown."""
    repeats = event["cat"] == "nccl" if has_collectives else "grid" in event["args"]
    return {true_step} if HAS_RANGES or repeats else {true_step, true_step - 1, None}


def step_at(moment_ns, steps):
    """Of steps {number: (begin, end)}."""
    return next((step for step, (begin, end) in steps.items() if begin <= moment_ns < end), None)


def step_problems(trace, truth, comparison):
    """Every call of a step, and of a detected step every repeating call, in the step of its number."""
    program_steps = [ProgramSteps(truth, rank) for rank in range(RANKS)]
    found_steps = [trace.steps(rank) for rank in range(RANKS)]
    seen = set()
    has_collectives = any(event["cat"] == "nccl" for event, _ in comparison.pairs)
    for event, call in comparison.pairs:
        rank = event["pid"]
        true_step = program_steps[rank].at(call["begin_ns"])
        found = step_at(trace.begin_ns(event), found_steps[rank])
        if true_step is not None and found not in steps_allowed(event, true_step, has_collectives):
            yield f"rank {rank}: call of step {true_step} in step {found}: {event}"
        seen.add((rank, true_step))
    for rank in range(RANKS):
        missing = [step for step in found_steps[rank] if (rank, step) not in seen]
        if missing:
            yield f"rank {rank}: no calls in steps {missing}"


def mark_problems(trace, truth):
    """A step holds one optimizer step, and with step k, counted from 0, k + 1 of them have been done."""
    for rank in range(RANKS):
        marks = truth.marks(rank, "step").values()
        for step, (begin, end) in trace.steps(rank).items():
            inside = sum(begin <= mark < end for mark in marks)
            done = sum(mark < end for mark in marks)
            if (inside, done) != (1, step + 1):
                yield f"rank {rank}: step {step} holds {inside} optimizer steps, {done} were done by its end"


def steps(folder):
    run = run_ranks(folder, RANKS, [BUILD / "programs" / PROGRAM, "--steps", STEPS, *FLAGS],
                    TRACEAGENT_SCHEDULE=SCHEDULE)
    trace, truth = run.trace(), run.truth()
    yield from mark_problems(trace, truth)
    descriptions = {about["step_detection"] for about in trace.about}
    print(PROGRAM, *FLAGS, "|", *sorted(descriptions))
    yield from trace.problems()
    yield from schedule_problems(trace)
    comparison = Comparison(trace, truth)
    yield from comparison.problems
    yield from step_problems(trace, truth, comparison)
    print(f"{len(comparison.pairs)} calls compared, {comparison.edge_calls} on an edge")
    if HAS_RANGES != ("nvtx range step" in "".join(descriptions)):
        yield f"steps come from {descriptions}"


report(steps)
