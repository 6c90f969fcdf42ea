#!/usr/bin/env python3
"""Programs on the real libcudart and libnccl print and return the same with the agent, and their
traces hold every hooked call once, in order, with its true error code. Needs no GPU: the codes are
then those of a machine without one.

usage: real_libraries_test.py BUILD DEPS LIBCUDART LIBNCCL
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from places import ARGUMENTS, BUILD, LIBRARY, SANITIZED, SOURCE, need

CUDART, NCCL = (pathlib.Path(need(path, path)).resolve() for path in ARGUMENTS)
PROGRAMS = {
    "ctypes": [sys.executable, SOURCE / "tests/programs/real_calls.py", CUDART, NCCL],
    "nvcc": [BUILD / "programs/real_calls"],
}
if SANITIZED:
    del PROGRAMS["ctypes"]


def run(command, folder, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TRACEAGENT_", "SIMGPU_"))}
    environment = kept | {"LD_LIBRARY_PATH": f"{CUDART.parent}:{NCCL.parent}"} | more
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=100)


def hooked_functions():
    rows = (BUILD / "generated/exports.txt").read_text().split()
    return {row.partition("@")[0] for row in rows}


def traced_calls(path):
    events = json.loads(path.read_text())["traceEvents"]
    calls = sorted((e["ts"], e["name"], e["args"]["result"]) for e in events
                   if e["ph"] == "X" and e["cat"] in ("cuda_runtime", "nccl"))
    return [(name, result) for _, name, result in calls]


def problems_of(name, command, folder):
    bare = run(command, folder)
    traced = run(command, folder, LD_PRELOAD=str(LIBRARY), TRACEAGENT_RUN_NAME="run")
    if (bare.stdout, bare.returncode) != (traced.stdout, traced.returncode) or not bare.stdout:
        yield f"{name}: bare {bare}, traced {traced}"
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.parent.name != "index")
    rank_files = [f for f in files if f.endswith("rank0.json")]
    if len(files) != 2 or len(rank_files) != 1:
        yield f"{name}: files {files}: {traced.stderr}"
        return
    said = [(call, int(code)) for call, code in map(str.split, bare.stdout.splitlines())]
    hooked = hooked_functions()
    wanted = [row for row in said if row[0] in hooked]
    seen = [row for row in traced_calls(folder / rank_files[0]) if row[0] in dict(said)]
    print(f"{name}: {wanted}")
    if wanted != seen or not wanted:
        yield f"{name}: {wanted} wanted, {seen} in the trace"


def main():
    problems = []
    for name, command in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            problems += problems_of(name, command, pathlib.Path(folder))
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
