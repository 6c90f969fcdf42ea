#!/usr/bin/env python3
"""Composer's marks, cycle by cycle: of random jobs whose clocks are known each merged time is within the bound that is
told for its rank, in whatever stages the files are merged; and ranks that have passed barriers together get a bound.
In other jobs clocks are set or steered on the way, or the job begins again with the same batches: there too, also where
each run is merged first.
usage: composer_clocks_test.py BUILD DEPS [JOBS]"""
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from places import ARGUMENTS, BUILD

TRACEAGENT = BUILD / "bin/traceagent"
JOBS = int(ARGUMENTS[0]) if ARGUMENTS else 20
BEGIN_US = 1_700_000_000_000_000
ROUNDING_US = 0.5  # of whole microseconds, as Composer writes them


class Job:
    """Ranks with clocks of their own, cycles some of whose files are lost."""

    def __init__(self, seed, folder):
        self.random, self.folder = random.Random(seed), folder
        self.ranks, cycles = self.random.randint(2, 6), self.random.randint(1, 4)
        self.clocks = [(0, 0)] + [(self.random.choice((50_000, 400_000_000)) * self.random.uniform(-1, 1),
                                   self.random.uniform(-90e-6, 90e-6)) for _ in range(1, self.ranks)]
        begins = list(itertools.accumulate(self.random.randint(5, 300) * 1_000_000 for _ in range(cycles)))
        self.batches = [40 * cycle for cycle in range(cycles)]
        self.disturb(begins)
        self.files = {(rank, cycle): self.write(rank, cycle, begins[cycle])
                      for rank in range(self.ranks) for cycle in range(len(begins)) if self.has_file(seed)}

    def disturb(self, begins):
        """Nothing disturbs this one."""

    def has_file(self, seed):
        return self.random.random() < (0.8 if seed % 2 else 0.5)

    def later_us(self, _cycle):
        return []

    def clock_us(self, rank, true_us):
        offset_us, drift = self.clocks[rank]
        return BEGIN_US + true_us + offset_us + drift * true_us

    def write(self, rank, cycle, begin_us):
        bound_us = self.random.randint(1, 200)
        path = self.folder / f"cycle{cycle}-rank{rank}.json"
        marks = {"global_rank": rank, "clock_sync_error_bound": bound_us,
                 "clock_sync_timestamp_us": int(self.clock_us(rank, begin_us) + self.random.uniform(0, bound_us))}
        events = [{"name": name, "ph": "M", "tid": 7, "pid": rank, "ts": 1, "args": {"value": value}}
                  for name, value in reversed(marks.items())]
        for step, true_us in enumerate([begin_us + 600, begin_us + 1600, *self.later_us(cycle)]):
            events.append({"name": "batch", "cat": "trainer", "ph": "X", "dur": 900, "tid": 7, "pid": rank,
                           "ts": int(self.clock_us(rank, true_us)),
                           "args": {"epoch": 0, "batch": self.batches[cycle] + step, "true_us": true_us, "rank": rank}})
        path.write_text(json.dumps(events))
        return path

    def ranks_that_met(self):
        """Those that are bound to the lowest rank by barriers, perhaps through others."""
        met = {min(rank for rank, _ in self.files)}
        while True:
            cycles = {cycle for rank, cycle in self.files if rank in met}
            more = met | {rank for rank, cycle in self.files if cycle in cycles}
            if more == met:
                return met
            met = more


class DisturbedJob(Job):
    """All files are there. Between two barriers a clock is set, or steered for a while; or the job begins again."""

    def disturb(self, begins):
        for _ in range(self.random.randint(2, 4)):
            begins.append(begins[-1] + self.random.randint(30, 300) * 1_000_000)
        self.batches = [40 * cycle for cycle in range(len(begins))]
        if self.random.random() < 0.4:
            self.batches = [batch % (40 * (len(begins) // 2)) for batch in self.batches]
        self.events = []
        for rank in range(self.ranks):
            cycle = self.random.randrange(len(begins) - 1)
            gap_us = begins[cycle + 1] - begins[cycle]
            at_us = begins[cycle] + self.random.uniform(0, gap_us / 2)
            set_us, steered = self.random.choice(((0, 0), (8_000, 0), (-8_000, 0), (3_000_000, 0), (-3_000_000, 0), (0, 150e-6)))
            # Not the first one's, and one of both: what makes no difference at a barrier shows nowhere.
            self.events.append((at_us, set_us, steered, gap_us / 3) if rank else (0, 0, 0, 0))
        self.gaps = list(itertools.pairwise(begins))

    def has_file(self, seed):
        return True

    def later_us(self, cycle):
        """Up to the next barrier; behind the last one nothing shows what happens to a clock."""
        begin_us, end_us = self.gaps[cycle] if cycle < len(self.gaps) else (0, 0)
        return [begin_us + (end_us - begin_us) * part / 20 for part in range(1, 20)] if end_us else []

    def clock_us(self, rank, true_us):
        at_us, set_us, steered, for_us = self.events[rank]
        moved_us = steered * min(max(true_us - at_us, 0), for_us) + (set_us if true_us > at_us else 0)
        return super().clock_us(rank, true_us) + moved_us


class RestartedJob(Job):
    """It begins again. Rank zero's files of the first run are lost: its merge is on another clock than the second's."""

    def disturb(self, begins):
        self.cycles = len(begins)
        begins += [begin + begins[-1] + 600_000_000 for begin in begins]
        self.batches += self.batches

    def has_file(self, seed):
        return True

    def files_of(self, run):
        return [path for (rank, cycle), path in self.files.items() if cycle // self.cycles == run and (run or rank)]


def merge(inputs, output):
    done = subprocess.run([str(word) for word in (TRACEAGENT, "merge", *inputs, "-o", output, "--force")],
                          capture_output=True, text=True, timeout=60)
    return json.loads(output.read_text()) if done.returncode == 0 else {"problem": done.stderr}


def bounds_us(document):
    """By rank; None where it is not known, in any of the files that hold the rank."""
    bounds = {}
    for node in document["traceagent"].get("clocks", {}).get("nodes", []):
        for rank in node["ranks"]:
            known = bounds.get(rank, 0)
            is_unknown = node["bound_ns"] is None or known is None
            bounds[rank] = None if is_unknown else max(known, node["bound_ns"] / 1000)
    return bounds


def reference_of(document):
    """The rank on whose clock all are, or those whose bound is known; None: on an earlier merge's, which is not told."""
    names = [(document["distributedInfo"].get("clock") or {}).get("of")]
    names += [node["node"] for node in document["traceagent"].get("clocks", {}).get("nodes", []) if node["method"] == "reference"]
    return next((int(name.split()[1]) for name in names if name and re.fullmatch(r"rank \d+", name)), None)


def problems_of(job, document, what):
    if "problem" in document:
        yield f"{what}: {document['problem']}"
        return
    bounds = bounds_us(document)
    reference = reference_of(document)
    if reference is None:
        return
    for event in document["traceEvents"]:
        if event["ph"] == "M" or bounds.get(event["args"]["rank"]) is None:
            continue
        told_us = document["baseTimeNanoseconds"] / 1000 + event["ts"]
        off_us = abs(told_us - job.clock_us(reference, event["args"]["true_us"]))
        if off_us > bounds[event["args"]["rank"]] + 2 * ROUNDING_US:
            yield f"{what}: rank {event['args']['rank']} {off_us} us off, {bounds} told"


def problems(seed, folder):
    job = Job(seed, folder)
    if len({rank for rank, _ in job.files}) < 2:
        return
    paths = list(job.files.values())
    whole = merge(paths, folder / "whole.out")
    yield from problems_of(job, whole, "at once")
    known = {rank for rank, bound in bounds_us(whole).items() if bound is not None}
    if known != job.ranks_that_met() and len({rank for rank, _ in job.files}) > 1:
        yield f"bounds of {known}, {job.ranks_that_met()} met: {sorted(job.files)}"
    job.random.shuffle(paths)
    if merge(paths, folder / "whole.out") != whole:
        yield "the order of the inputs counts"
    some = job.random.randint(1, len(paths) - 1)
    merge(paths[:some], folder / "some.out")
    yield from problems_of(job, merge([folder / "some.out", *paths[some:]], folder / "rest.out"), "some first")
    cycles = {}
    for (_, cycle), path in job.files.items():
        cycles.setdefault(cycle, []).append(path)
    for cycle, files in cycles.items():
        merge(files, folder / f"cycle{cycle}.out")
    outputs = [folder / f"cycle{cycle}.out" for cycle in cycles]
    yield from problems_of(job, merge(outputs, folder / "cycles.out"), "cycle by cycle")
    ranks = ",".join(str(rank) for rank in job.random.sample(range(job.ranks), job.random.randint(1, job.ranks)))
    merge([*paths[:some], "--rank", ranks], folder / "chosen.out")
    if (folder / "chosen.out").exists():
        yield from problems_of(job, merge([folder / "chosen.out", *paths[some:]], folder / "chosen_and_rest.out"), "chosen ranks first")


def problems_of_disturbed(seed, folder):
    job = DisturbedJob(seed, folder)
    document = merge(job.files.values(), folder / "whole.out")
    yield from problems_of(job, document, f"disturbed {job.events}")


def problems_of_restarted(seed, folder):
    job = RestartedJob(seed, folder)
    if job.ranks < 3:
        return
    outputs = [folder / f"run{run}.out" for run in (0, 1)]
    for run, output in enumerate(outputs):
        yield from problems_of(job, merge(job.files_of(run), output), f"run {run}")
    yield from problems_of(job, merge(outputs, folder / "both.out"), "run by run")


def main():
    found = []
    for seed in range(JOBS):
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            found += [f"job {seed}: {problem}" for problem in problems(seed, pathlib.Path(folder))]
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            found += [f"job {seed}: {problem}" for problem in problems_of_restarted(seed, pathlib.Path(folder))]
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            found += [f"job {seed}: {problem}" for problem in problems_of_disturbed(seed, pathlib.Path(folder))]
    print(*found, f"{JOBS} jobs, {len(found)} problems", sep="\n")
    return 1 if found else 0


sys.exit(main())
