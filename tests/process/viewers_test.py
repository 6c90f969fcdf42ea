#!/usr/bin/env python3
"""A trace viewer in headless Chromium shows every lane of a trace, and all of its slices.

usage: viewers_test.py BUILD DEPS speedscope|perfetto|catapult [TRACE]
Without TRACE: one made by hand, and one that the viewer must complain of.
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import made_trace
from places import ARGUMENTS, SOURCE, VIEWER, need, skip

# What each of them flags; speedscope has no eye for nesting, the others none for a text as pid.
FAULTS = {
    "speedscope": ('"pid":3', '"pid":"three"'),
    "perfetto": ('"dur":20.0', '"dur":60.0'),  # runs out of the slice around it
    "catapult": ('"displayTimeUnit": "ns"', '"displayTimeUnit": "ms"'),  # the short calls are nested
}


def lanes_of(trace):
    """{(pid, process name, tid, thread name): slices}; both viewers count a thread's instants too."""
    events = json.loads(trace.read_text())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    lanes = collections.Counter((e["pid"], e["tid"]) for e in events if e["ph"] in ("X", "i"))
    return {(pid, processes.get(pid), tid, threads.get((pid, tid))): count
            for (pid, tid), count in lanes.items()}


def shown_by(viewer, trace):
    script = SOURCE / "tests/support/viewer/inspect.mjs"
    done = subprocess.run(["node", script, viewer, VIEWER, trace], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{viewer}: {trace}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def wanted_rows(viewer, lanes):
    """What the viewer should say, as a multiset of texts."""
    rows = collections.Counter()
    for (pid, process, tid, thread), slices in lanes.items():
        if viewer == "speedscope":
            rows[f"{process} (pid {pid}), {thread} (tid {tid})"] += 1
        else:
            rows[f"pid {pid} {process}, {thread}"] += slices
    return rows


def shown_rows(viewer, shown):
    if viewer == "speedscope":
        return collections.Counter(shown["profiles"])
    rows = collections.Counter()
    for lane in shown["lanes"]:
        rows[f"pid {lane['pid']} {lane['process']}, {lane['thread']}"] += lane["slices"]
    return rows


def problems_with(viewer, trace):
    shown = shown_by(viewer, trace)
    if shown["problems"]:
        return [f"{viewer}: {problem}" for problem in shown["problems"]]
    wanted, seen = wanted_rows(viewer, lanes_of(trace)), shown_rows(viewer, shown)
    print(f"{trace.name}: {len(wanted)} lanes, {sum(wanted.values())} wanted, {sum(seen.values())} shown")
    return [f"{row}: {wanted[row]} in the trace, {seen[row]} shown"
            for row in sorted(wanted.keys() | seen.keys()) if wanted[row] != seen[row]]


def problems_with_made_traces(viewer, folder):
    made, faulty = folder / "node0.json", folder / "faulty.json"
    made_trace.write(made, ranks=range(4))
    faulty.write_text(made.read_text().replace(*FAULTS[viewer]))
    problems = problems_with(viewer, made)
    complaints = shown_by(viewer, faulty)["problems"]
    print(f"of the faulty trace: {complaints}")
    return problems if complaints else problems + ["no complaint about the faulty trace"]


def main():
    viewer = ARGUMENTS[0]
    need(VIEWER / "node_modules/speedscope", "speedscope")
    need(VIEWER / "perfetto/index.html", "Perfetto's viewer")
    if not shutil.which("chromium"):
        skip("chromium is not here")
    if len(ARGUMENTS) > 1:
        problems = problems_with(viewer, pathlib.Path(ARGUMENTS[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            problems = problems_with_made_traces(viewer, pathlib.Path(folder))
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
