#!/usr/bin/env python3
"""A real PyTorch trains over gloo under the real torchrun, with and without the agent.

Without a CUDA or NCCL call: the same bytes, the same exit code, no file, no line. With calls into
the real libcudart: the same bytes too, and exactly the files that the schedule asks for.

usage: pytorch_gloo_test.py BUILD DEPS LIBCUDART
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from places import ARGUMENTS, LIBRARY, SOURCE, VENV, need

CALLS = ("cudaMalloc", "cudaDeviceSynchronize", "cudaFree")
ACTIVE = 4
SCHEDULE = {"TRACEAGENT_RUN_NAME": "gloo", "TRACEAGENT_STEP_MARK": f"call:{CALLS[0]}",
            "TRACEAGENT_SCHEDULE": f"skip_first=0,wait=0,warmup=1,active={ACTIVE},repeat=1"}


def torchrun(folder, arguments, variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRACEAGENT_")}
    # torchrun leaves its log folders in TMPDIR.
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                    "TMPDIR": str(folder.parent)} | variables
    command = [VENV / "bin/torchrun", "--standalone", "--nproc-per-node=2",
               SOURCE / "tests/programs/gloo_training.py", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=200)


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def differences(bare, traced):
    if bare.stdout != traced.stdout:
        yield f"stdout differs: bare {bare.stdout!r}, traced {traced.stdout!r}"
    if bare.returncode != traced.returncode:
        wrong = traced if traced.returncode else bare
        yield (f"exit code {bare.returncode} bare, {traced.returncode} traced: "
               f"{wrong.stderr.decode()[-2000:]}")
    if not bare.stdout:
        yield f"the program printed nothing: {bare.stderr.decode()[-2000:]}"


def run_both(folder, arguments=(), variables=None):
    runs = []
    for name, extra in (("bare", {}), ("traced", {"LD_PRELOAD": str(LIBRARY)} | (variables or {}))):
        (folder / name).mkdir()
        runs.append(torchrun(folder / name, arguments, extra))
    return runs


def problems_without_calls(folder):
    # Its own place for rings: in /dev/shm those of the tests that run beside this one come and go.
    rings = folder / "rings"
    rings.mkdir()
    bare, traced = run_both(folder, variables={"TRACEAGENT_RING_FOLDER": str(rings)})
    yield from differences(bare, traced)
    yield from (f"left behind: {name}" for name in files_below(folder / "traced"))
    yield from (f"a ring left behind: {name}" for name in files_below(rings))
    if b"traceagent:" in traced.stderr:
        yield f"a line on stderr without a hooked call: {traced.stderr.decode()}"


def rank_file_problems(path, rank):
    document = json.loads(path.read_text())
    if document["distributedInfo"]["rank"] != rank:
        yield f"{path.name}: rank {document['distributedInfo']['rank']}"
    events = [e for e in document["traceEvents"] if e["ph"] == "X"]
    for call in CALLS:
        count = sum(e["name"] == call for e in events)
        if count != ACTIVE:
            yield f"{path.name}: {count} of {ACTIVE} {call} calls"
    if document.get("complete") is not True:
        yield f"{path.name}: not complete"


def problems_with_calls(folder):
    bare, traced = run_both(folder, [need(ARGUMENTS[0], "the real libcudart")], SCHEDULE)
    yield from differences(bare, traced)
    batch = 1 + ACTIVE
    wanted = sorted(["gloo", "gloo/traces", "gloo/traces/index", "gloo/traces/index/index.json",
                     "gloo/traces/node0.json",
                     *(f"gloo/traces/ep0-ba{batch}-rank{rank}.json" for rank in range(2))])
    found = files_below(folder / "traced")
    if found != wanted:
        yield f"files {wanted} wanted, {found} found: {traced.stderr.decode()[-2000:]}"
        return
    for rank in range(2):
        path = folder / f"traced/gloo/traces/ep0-ba{batch}-rank{rank}.json"
        yield from rank_file_problems(path, rank)


def main():
    need(next(VENV.glob("lib/python3*/site-packages/torch"), "/none"), "PyTorch")
    if not LIBRARY.exists():
        sys.exit(f"{LIBRARY}: not built")
    problems = []
    for part in (problems_without_calls, problems_with_calls):
        with tempfile.TemporaryDirectory() as folder:
            found = list(part(pathlib.Path(folder)))
        print(f"{part.__name__}: {len(found)}")
        problems += found
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
