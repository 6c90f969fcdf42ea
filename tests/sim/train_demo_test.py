#!/usr/bin/env python3
"""An nvcc-built program on the simulated GPU: four ranks, and the truth about each of them.

usage: train_demo_test.py BUILD_FOLDER     (0: good, 1: not, 77: mpirun is missing)
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RANKS, STEPS, BUCKETS = 4, 12, 4


def environment(build, truth):
    variables = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    variables["LD_LIBRARY_PATH"] = f"{build}/sim/lib:{build}/sim/cupti"
    variables["SIMGPU_TRUTH"] = f"{truth}/{{rank}}.truth"
    return variables


def run(build, truth):
    command = ["mpirun", "--oversubscribe", "-n", str(RANKS), f"{build}/bin/train_demo",
               "--steps", str(STEPS), "--print-every", "6"]
    done = subprocess.run(command, env=environment(build, truth), capture_output=True, text=True)
    files = sorted(str(path) for path in pathlib.Path(truth).iterdir())
    lines = subprocess.run([f"{build}/bin/simgpu-truth", *files], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return done, files, [json.loads(line) for line in lines]


def check_calls(records, problems):
    # nvcc 13 compiles <<<>>> into __cudaLaunchKernel, nvcc 12 into cudaLaunchKernel.
    counts = collections.Counter((r["rank"], r["function"].removeprefix("__"))
                                 for r in records if r["kind"] == "call")
    for rank in range(RANKS):
        expected = {"ncclAllReduce": STEPS * BUCKETS, "ncclBroadcast": BUCKETS,
                    # weights once; then forward, loss, relu, weights, input, optimizer
                    "cudaLaunchKernel": BUCKETS + STEPS * (4 + 1 + 4 + 4 + 3 + 4),
                    "cudaMemcpyAsync": STEPS + 2}
        for function, count in expected.items():
            if counts[rank, function] != count:
                problems.append(f"rank {rank}: {counts[rank, function]} {function}, not {count}")
    failed = [r for r in records if r["kind"] == "call" and r["result"] != 0]
    problems += [f"{r['function']} returned {r['result']}" for r in failed]
    problems += [f"never ended: {r}" for r in records if r["open"]]


def check_collectives(records, problems):
    meetings = collections.defaultdict(list)
    for record in records:
        if record["kind"] == "device" and record["work"] == "collective":
            meetings[record["comm"], record["seq"]].append(record)
    if len(meetings) != BUCKETS * (STEPS + 1):
        problems.append(f"{len(meetings)} collectives")
    for (_, seq), parts in meetings.items():
        ends = {part["end_ns"] for part in parts}
        if sorted(part["rank"] for part in parts) != list(range(RANKS)) or len(ends) != 1:
            problems.append(f"collective {seq}: ranks {[p['rank'] for p in parts]}, ends {ends}")


def main(build):
    if shutil.which("mpirun") is None:
        print("mpirun is missing")
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as truth:
        done, files, records = run(build, truth)
    wanted = ["training on 4 ranks, 4 layers of 256 x 256", "step 6 of 12: loss 0.0000",
              "step 12 of 12: loss 0.0000", "done"]
    if done.returncode != 0 or done.stdout.splitlines() != wanted:
        problems.append(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    if len(files) != RANKS:
        problems.append(f"truth files: {files}")
    check_calls(records, problems)
    check_collectives(records, problems)
    for problem in problems[:20]:
        print(problem)
    print(f"{len(records)} records, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
