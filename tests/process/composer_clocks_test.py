#!/usr/bin/env python3
"""Composer's marks, cycle by cycle: of random jobs whose clocks are known each merged time is within the bound that is
told for its rank, in whatever stages the files are merged; and ranks that have passed barriers together get a bound.
usage: composer_clocks_test.py BUILD DEPS [JOBS]"""
import itertools
import json
import pathlib
import random
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
        self.files = {(rank, cycle): self.write(rank, cycle, begins[cycle])
                      for rank in range(self.ranks) for cycle in range(cycles) if self.random.random() < (0.8 if seed % 2 else 0.5)}

    def clock_us(self, rank, true_us):
        offset_us, drift = self.clocks[rank]
        return BEGIN_US + true_us + offset_us + drift * true_us

    def write(self, rank, cycle, begin_us):
        bound_us = self.random.randint(1, 200)
        path = self.folder / f"ep0-ba{cycle * 40}-rank{rank}.json"
        marks = {"global_rank": rank, "clock_sync_error_bound": bound_us,
                 "clock_sync_timestamp_us": int(self.clock_us(rank, begin_us) + self.random.uniform(0, bound_us))}
        events = [{"name": name, "ph": "M", "tid": 7, "pid": rank, "ts": 1, "args": {"value": value}}
                  for name, value in reversed(marks.items())]
        for step in range(2):
            true_us = begin_us + 600 + 1000 * step
            events.append({"name": "batch", "cat": "trainer", "ph": "X", "dur": 900, "tid": 7, "pid": rank,
                           "ts": int(self.clock_us(rank, true_us)),
                           "args": {"epoch": 0, "batch": cycle * 40 + step, "true_us": true_us, "rank": rank}})
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


def problems_of(job, document, what):
    if "problem" in document:
        yield f"{what}: {document['problem']}"
        return
    bounds = bounds_us(document)
    lowest = min(rank for rank, _ in job.files)
    for event in document["traceEvents"]:
        if event["ph"] == "M" or bounds.get(event["args"]["rank"]) is None:
            continue
        told_us = document["baseTimeNanoseconds"] / 1000 + event["ts"]
        off_us = abs(told_us - job.clock_us(lowest, event["args"]["true_us"]))
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


def main():
    found = []
    for seed in range(JOBS):
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            found += [f"job {seed}: {problem}" for problem in problems(seed, pathlib.Path(folder))]
    print(*found, f"{JOBS} jobs, {len(found)} problems", sep="\n")
    return 1 if found else 0


sys.exit(main())
