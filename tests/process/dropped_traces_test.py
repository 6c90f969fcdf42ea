#!/usr/bin/env python3
"""A trace that another profiler drops into the folder of the run while that goes on (merge.include): it is in the
node's file on our clock, and our own files, whose names match too, are there once.

    dropped_traces_test.py BUILD DEPS plain|torch
"""
import sys

import jobs
from jobs import Checks, Place
from places import ARGUMENTS, BUILD, SOURCE, VENV, need

CUDART = need(BUILD / "sim/lib/libcudart.so.13", "the simulated libcudart")
KIND = ARGUMENTS[0]
# Two windows of three steps: the second holds the step that is looked at.
SETTINGS = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=3,repeat=2", "TRACEAGENT_OUTPUT_FOLDER": "out",
            "TRACEAGENT_OUTPUT_FILENAME": "rank{rank}.{batch}.pt.trace.json",
            "TRACEAGENT_MERGE_INCLUDE": "*.pt.trace.json*", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
jobs.TIMEOUT = 240  # PyTorch takes long to start on a busy machine
checks = Checks()
check = checks.check


def python():
    if KIND == "plain":
        return sys.executable
    need(next(VENV.glob("lib/python3*/site-packages/torch"), "/none"), "PyTorch")
    return VENV / "bin/python"


def times_of(document, name):
    """(begin, end) in ns of each."""
    base = document["baseTimeNanoseconds"]
    return [(base + round(event["ts"] * 1000), base + round((event["ts"] + event["dur"]) * 1000))
            for event in document["traceEvents"] if event["ph"] == "X" and event["name"] == name]


def main():
    with Place() as place:
        words = [python(), SOURCE / "tests/programs/dropped_trace.py", KIND, CUDART, place.path / "out"]
        done = place.run(words, place.agent(**SETTINGS))
        check(done.code == 0 and done.out == "dropped beside 1\n" and len(done.lines()) == 1, f"{done}")
        own = sorted(path.name for path in (place.path / "out").glob("rank0.*.pt.trace.json"))
        foreign = list((place.path / "out").glob("host_*.pt.trace.json"))
        check(len(own) == 2 and len(foreign) == 1, f"files: {place.files()}")
        node = place.trace("out/node0.json")
        found = {name: times_of(node, name) for name in ("before", "around", "after", "cudaMalloc")}
        if check(all(len(times) == 1 for times in found.values()), f"each is there once: {found}"):
            before, around, after, call = (found[name][0] for name in ("before", "around", "after", "cudaMalloc"))
            print(f"ns from mark to call to mark: {call[0] - before[1]}, {after[0] - call[1]}")
            check(before[1] < call[0] and call[1] < after[0], f"the call is between the marks: {found}")
            check(around[0] < call[0] and call[1] < around[1], f"and within the slice around it: {found}")
        steps = [event["name"] for event in node["traceEvents"] if event["name"].startswith("ProfilerStep#")
                 and event["ph"] == "X"]
        check(len(steps) == len(set(steps)) == 6, f"our steps: {steps}")
        check(node["distributedInfo"]["ranks"] == [0], f"ranks: {node['distributedInfo']}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
