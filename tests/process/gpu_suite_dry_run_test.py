#!/usr/bin/env python3
"""tests/gpu/run without a GPU: all that can be tried on the simulated libraries must pass, and the
table and RESULTS.md must say so. usage: gpu_suite_dry_run_test.py BUILD DEPS CASES"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from places import ARGUMENTS, BUILD, DEPS, SOURCE, VENV, need

RUN = SOURCE / "tests/gpu/run"


def with_nvidia_smi(folder):
    """The environment with one that sees 100 MiB in use, whatever runs."""
    tool = folder / "bin/nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 100\n")
    tool.chmod(0o755)
    return os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}"}


def problems_of(cases, folder):
    python = VENV / "bin/python"
    results, page = folder / "results.json", folder / "RESULTS.md"
    command = [python if python.exists() else sys.executable, RUN, "--simulate", BUILD, "--only", cases,
               "--results", results, "--markdown", page, "--keep", folder / "failed.tar.gz", "--jobs", "1"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=800,
                          env=with_nvidia_smi(folder))
    print(done.stdout, done.stderr, sep="")
    if done.returncode != 0:
        yield f"exit code {done.returncode}"
    rows = json.loads(results.read_text())["rows"] if results.exists() else {}
    if not rows:
        yield "no results"
    states = [row["state"] for row in rows.values()]
    if not set(states) <= {"passed", "skipped"} or states.count("passed") * 2 < len(states):
        yield f"states {states}"
    text = page.read_text() if page.exists() else ""
    for name in rows:
        if f"| {name} | {rows[name]['state']} |" not in text:
            yield f"{name} is not in RESULTS.md"


def main():
    need(DEPS / "cuda/bin/nvcc" if not shutil.which("nvcc") else "/", "nvcc")
    listed = subprocess.run([sys.executable, RUN, "--list"], capture_output=True, text=True).stdout
    problems = [] if len(listed.splitlines()) >= 30 else [f"--list names too little: {listed}"]
    with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
        problems += problems_of(ARGUMENTS[0], pathlib.Path(folder))
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
