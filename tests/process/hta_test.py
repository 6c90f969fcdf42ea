#!/usr/bin/env python3
"""Holistic Trace Analysis (PyPI) finds the ranks and the steps of a folder of rank files.

usage: hta_test.py BUILD DEPS [RANK_FILE...]      without files: four made by hand
HTA leaves the last ProfilerStep out of what it analyses. Its breakdowns are hta_device_test.py's.
"""
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import made_trace
from places import ARGUMENTS, VENV, need

STEP = re.compile(r"ProfilerStep#(\d+)$")


# HTA takes these for work of the device, whatever their stream.
WAITS = ("Event Sync", "Context Sync")


def starts_of(events):
    """When they start; of work of the device, when the call that launched it started, if it is known."""
    is_work = [event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") or event["name"] in WAITS for event in events]
    call_starts = {event["args"]["correlation"]: event["ts"] for event, of_device in zip(events, is_work)
                   if not of_device and event["cat"] != "cuda_sync" and "correlation" in event.get("args", {})}
    for event, of_device in zip(events, is_work):
        start = call_starts.get(event["args"]["correlation"]) if of_device else event["ts"]
        if start is not None:
            yield start


def steps_in(path):
    """{step: number of X events that belong to it}, the last step left out."""
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    steps = sorted((e["ts"], e["ts"] + e["dur"], int(m[1]))
                   for e in events if (m := STEP.match(e["name"])))
    starts = sorted(starts_of(events))
    return {step: bisect.bisect_left(starts, end) - bisect.bisect_left(starts, begin)
            for begin, end, step in steps[:-1]}


def steps_seen_by_hta(trace, rank):
    counts = collections.Counter(int(i) for i in trace.get_trace(rank)["iteration"])
    counts.pop(-1, None)
    return {i: counts[i] for i in sorted(int(i) for i in trace.get_iterations(rank))}


def problems_with(folder):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else it moves times to whole µs, over step edges
    from hta.trace_analysis import TraceAnalysis
    trace = TraceAnalysis(trace_dir=str(folder)).t
    files = {json.loads(path.read_text())["distributedInfo"]["rank"]: path
             for path in folder.iterdir()}
    found = sorted(int(rank) for rank in trace.get_all_traces())
    if found != sorted(files):
        yield f"ranks {sorted(files)} written, {found} found"
    for rank in found:
        written, seen = steps_in(files[rank]), steps_seen_by_hta(trace, rank)
        print(f"rank {rank}: steps and their events {seen}")
        if written != seen or not seen:
            yield f"rank {rank}: steps {written} written, {seen} found"


def main():
    need(VENV / "bin/python", "the Python environment")
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(VENV / "bin/python", [str(VENV / "bin/python"), *sys.argv])
    need(next(VENV.glob("lib/python3*/site-packages/hta"), "/none"), "HolisticTraceAnalysis")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in ARGUMENTS:
            shutil.copy(path, folder)
        for rank in range(4) if not ARGUMENTS else ():
            made_trace.write(folder / f"rank{rank}.json", [rank], steps=5)
        problems = list(problems_with(folder))
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
