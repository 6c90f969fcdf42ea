#!/usr/bin/env python3
"""speedscope (npm), in headless Chromium, shows every process and thread of a trace.

usage: speedscope_test.py BUILD DEPS [TRACE]      without TRACE: one made by hand, and one it must refuse
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import made_trace
from places import ARGUMENTS, SOURCE, VIEWER, need, skip


def lanes_of(trace):
    """{(pid, tid): (process name, thread name)} of all lanes that hold a slice."""
    events = json.loads(trace.read_text())["traceEvents"]
    named = {(e["name"], e["pid"], e["tid"] if e["name"] == "thread_name" else None): e["args"]["name"]
             for e in events if e["ph"] == "M" and e["name"] in ("process_name", "thread_name")}
    return {(e["pid"], e["tid"]): (named.get(("process_name", e["pid"], None)),
                                   named.get(("thread_name", e["pid"], e["tid"])))
            for e in events if e["ph"] == "X"}


def shown_by_speedscope(trace):
    script = SOURCE / "tests/support/viewer/list_lanes.mjs"
    done = subprocess.run(["node", script, VIEWER, trace], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"speedscope: {trace}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def problems_with(trace):
    lanes, shown = lanes_of(trace), shown_by_speedscope(trace)
    if shown["problems"]:
        return [f"speedscope: {problem}" for problem in shown["problems"]]
    wanted = {f"{process} (pid {pid}), {thread} (tid {tid})"
              for (pid, tid), (process, thread) in lanes.items()}
    print(f"{trace.name}: {len(wanted)} lanes, {len(shown['profiles'])} shown")
    return ([f"not shown: {name}" for name in sorted(wanted - set(shown["profiles"]))] +
            [f"shown, but not in the trace: {name}" for name in sorted(set(shown["profiles"]) - wanted)])


def problems_with_made_traces(folder):
    made = folder / "node0.json"
    made_trace.write(made, ranks=range(4))
    problems = problems_with(made)
    refused = folder / "refused.json"
    refused.write_text(made.read_text().replace('"pid":3', '"pid":"three"'))
    if not shown_by_speedscope(refused)["problems"]:
        problems.append("a trace with a text for a pid was not refused: this test sees nothing")
    return problems


def main():
    need(VIEWER / "node_modules/speedscope", "speedscope")
    if not shutil.which("chromium"):
        skip("chromium is not here")
    if ARGUMENTS:
        problems = problems_with(pathlib.Path(ARGUMENTS[0]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            problems = problems_with_made_traces(pathlib.Path(folder))
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
