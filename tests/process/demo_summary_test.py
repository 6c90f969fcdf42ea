#!/usr/bin/env python3
"""What tools/demo says of its run: all events, of a file that is compressed too, and nothing of an earlier run's. What it
builds has all that its lines name."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from jobs import Checks
from places import BUILD, SOURCE

EVENTS = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}},
          {"ph": "X", "name": "ProfilerStep#1", "cat": "user_annotation", "ts": 1, "dur": 9, "pid": 0, "tid": 1},
          {"ph": "X", "name": "k", "cat": "kernel", "ts": 2, "dur": 3, "pid": 0, "tid": 7},
          {"ph": "s", "name": "ac2g", "cat": "ac2g", "id": 1, "ts": 2, "pid": 0, "tid": 1},
          {"ph": "f", "name": "ac2g", "cat": "ac2g", "id": 1, "ts": 2, "pid": 0, "tid": 7},
          {"ph": "C", "name": "cpu", "ts": 3, "pid": 0, "tid": 0, "args": {"%": 1}},
          {"ph": "X", "name": "ProfilerStep#1", "cat": "user_annotation", "ts": 1, "dur": 9, "pid": 1, "tid": 1}]
checks = Checks()


def summary(run, older):
    return subprocess.run([sys.executable, SOURCE / "tools/demo_summary.py", run, older], capture_output=True, text=True, timeout=60)


def write(path, data, seconds):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (seconds, seconds))


def test_all_events(folder):
    text = json.dumps({"traceEvents": EVENTS}).encode()
    write(folder / "begun", b"", 1000)
    for name, data in (("node0.json", text), ("node0.json.gz", gzip.compress(text))):
        write(folder / name / "traces" / name, data, 1001)
        said = summary(folder / name, folder / "begun")
        counted = [int(events) for events in re.findall(r"steps, (\d+) events", said.stdout)]
        checks.check(said.returncode == 0 and sum(counted) == 6 and "1 steps, 5 events (2 calls, device work and ranges, 2 ends of "
                     "arrows, 1 samples of counters), 0 collectives, 0.0 us in them, 1 kernels" in said.stdout, f"{name}: {said}")


def test_no_file_of_this_run(folder):
    write(folder / "begun", b"", 1000)
    write(folder / "run/traces/node0.json", json.dumps({"traceEvents": EVENTS}).encode(), 999)
    said = summary(folder / "run", folder / "begun")
    checks.check(said.returncode == 1 and "this run made no node file" in said.stderr and "TRACEAGENT_RUN_NAME" in said.stderr
                 and not said.stdout, f"an earlier run's: {said}")
    write(folder / "run/traces/node1.json", json.dumps({"traceEvents": EVENTS}).encode(), 1000)
    checks.check("node1.json" in summary(folder / "run", folder / "begun").stdout, "another node's")
    said = summary(folder / "none", folder / "begun")
    checks.check(said.returncode == 1 and "no node file" in said.stderr, f"none: {said}")
    said = subprocess.run([sys.executable, SOURCE / "tools/demo_summary.py", folder], capture_output=True, text=True, timeout=60)
    checks.check(said.returncode == 2 and "see demo_summary.py --help" in said.stderr and said.stderr.count("\n") == 1, f"{said}")


def test_what_is_built(_):
    if not shutil.which("ninja") or not (BUILD / "build.ninja").exists():
        return
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "demo"], capture_output=True, text=True, timeout=60).stdout
    for program in ("traceagent", "traceagent-run", "traceagent-mpirun", "traceagent-upload", "train_demo"):
        checks.check(re.search(rf"-o \S*bin/{program} ", commands), f"tools/demo does not build {program}")


for test in (test_all_events, test_no_file_of_this_run, test_what_is_built):
    with tempfile.TemporaryDirectory() as place:
        test(pathlib.Path(place))
sys.exit(checks.end())
