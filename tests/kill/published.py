"""What a process had published before it was killed, by the simulator's truth, and what of it is in a
trace. The program is `steady`: each cudaDeviceSynchronize of the main thread begins a step.

The simulator notes a call when it is reached, after the agent has published it: all that the truth
holds must be in the trace, and at most one call more per thread, which was killed between the two.
"""

import collections

from truth import hooked_functions, shown_name

BEFORE_STEPS = -1
OLDEST = "the oldest"  # may be dropped, and no others
ANY_OVERWRITTEN = "overwritten or, while a file is written, not kept"
HOOKED = hooked_functions()


class Windows:
    """The active steps of a schedule without skip_first."""

    def __init__(self, wait, warmup, active, repeat):
        self.text = f"wait={wait},warmup={warmup},active={active},repeat={repeat}"
        self._before, self._active = wait + warmup, active
        self._length, self._repeat = wait + warmup + active, repeat

    def first_of(self, step):
        """The first step of the window that the step is in; None outside of windows."""
        if step == BEFORE_STEPS:
            return BEFORE_STEPS
        cycle, place = divmod(step, self._length)
        if cycle >= self._repeat or place < self._before:
            return None
        return cycle * self._length + self._before


def calls_by_step(records):
    """[(step, tid, name, number)] in the order of the calls, of one process."""
    calls = sorted((r for r in records if r["kind"] == "call" and r["function"] in HOOKED),
                   key=lambda call: call["number"])
    step, found = BEFORE_STEPS, []
    for call in calls:
        step += call["function"] == "cudaDeviceSynchronize"
        found.append((step, call["tid"], shown_name(call["function"]), call["number"]))
    return found


def published(records, windows):
    """{first step of a window: {tid: [name]}}. Without any step: what came before."""
    calls = calls_by_step(records)
    any_step = bool(calls) and calls[-1][0] != BEFORE_STEPS
    wanted = collections.defaultdict(lambda: collections.defaultdict(list))
    for step, tid, name, _ in calls:
        first = windows.first_of(step)
        if first is not None and (first == BEFORE_STEPS) != any_step:
            wanted[first][tid].append(name)
    return wanted


def found_in(trace, rank):
    """The same of a trace, and problems: what is there twice or in no window."""
    problems, found = [], {}
    # A call in flight is the last thing that is known: it may begin in the window's last nanosecond.
    calls = {tid: events for (pid, tid), events in trace.calls().items() if pid == rank}
    left = sum(len(events) for events in calls.values())
    windows = trace.windows(rank)
    for (begin, end, first, _), following in zip(windows, [*windows[1:], None]):
        # The next one may follow without a gap, and its call is the first of its own.
        until = end + 1 if following is None else min(end + 1, following[0])
        first = BEFORE_STEPS if first is None else first
        if first in found:
            problems.append(f"rank {rank}: the window of step {first} is there twice")
            continue
        inside = {tid: [event["name"] for event in events if begin <= trace.begin_ns(event) < until]
                  for tid, events in calls.items()}
        found[first] = {tid: names for tid, names in inside.items() if names}
        left -= sum(len(names) for names in inside.values())
    if left:
        problems.append(f"rank {rank}: {left} events in no window, or in two")
    keys = collections.Counter((event["tid"], event["ts"], event["name"], event["args"].get("correlation"))
                               for event in trace.events if event["pid"] == rank and event["ph"] == "X")
    problems += [f"rank {rank}: twice: {key}" for key, count in keys.items() if count > 1]
    return found, problems


def ends_with(names, last):
    return names[len(names) - len(last):] == last


class Comparison:
    """Of a process: events published and found, and what is wrong."""

    def __init__(self, records, trace, rank, windows, killed, may_drop=False):
        wanted = published(records, windows)
        found, self.problems = found_in(trace, rank) if trace is not None else ({}, [])
        self.published = self.found = 0
        self.windows = {}  # {first step: (published, found)}
        for first in sorted(wanted.keys() | found.keys()):
            before = self.published, self.found
            self._compare(rank, first, wanted.get(first, {}), found.get(first, {}), killed, may_drop)
            self.windows[first] = self.published - before[0], self.found - before[1]

    def _compare(self, rank, first, wanted, found, killed, may_drop):
        count = sum(map(len, wanted.values()))
        self.published += count
        # A kill within the first synchronization, when what came before the steps is thrown away.
        if first == BEFORE_STEPS and not found and count <= 1 and killed:
            self.published -= count
            return
        for tid in wanted.keys() | found.keys():
            true, shown, more = wanted.get(tid, []), found.get(tid, []), 1 if killed else 0
            if may_drop:
                self.found += len(shown)
                if may_drop == OLDEST and shown and not any(ends_with(true, shown[:len(shown) - one])
                                                            for one in range(more + 1)):
                    self.problems.append(f"rank {rank}, window of step {first}, thread {tid}: not the newest calls")
                continue
            if shown[:len(true)] != true or len(shown) > len(true) + more:
                self.problems.append(f"rank {rank}, window of step {first}, thread {tid}: "
                                     f"{len(shown)} of {len(true)} calls: {shown[-2:]} for {true[-2:]}")
            self.found += min(len(shown), len(true))


def launches_without_work(trace, rank):
    return counted_of_device(trace, rank, "launches_without_work")


def work_without_launch(trace, rank):
    return counted_of_device(trace, rank, "work_without_launch")


def counted_of_device(trace, rank, what):
    return sum(sum(about.get("device", {}).get(what, {}).values()) for about in trace.about
               if about["identity"]["rank"] == rank)


def dropped(trace, rank, *causes, first=None):
    """Of all of its windows, or of the one that begins with this step."""
    return sum(about["dropped"].get(cause, 0) for about in trace.about if about["identity"]["rank"] == rank
               and first in (None, about["window"].get("first_step", BEFORE_STEPS)) for cause in causes)
