#!/usr/bin/env python3
"""One program under every launcher: the node files say the same about ranks, steps and collectives."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from places import BUILD, VENV
from traced_run import kill_session

RANKS = 4
PROGRAM = [BUILD / "bin/train_demo", "--steps", "12"]
RUN, MPIRUN = BUILD / "bin/traceagent-run", BUILD / "bin/traceagent-mpirun"
LAUNCHER_VARIABLE = re.compile(r"(TRACEAGENT|OMPI|PMIX|PMI|SLURM|TORCHELASTIC)_|(WORLD_SIZE|RANK|LOCAL_RANK)$")


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not LAUNCHER_VARIABLE.match(k)}
    return kept | {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "TRACEAGENT_RUN_NAME": "run",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more


def start(command, folder, variables):
    outside = {"TMPDIR": str(pathlib.Path(folder).parent)}
    return subprocess.Popen([str(word) for word in command], cwd=folder, env=variables | outside,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def one_command(*command):
    return lambda folder: [start(command, folder, environment())]


def slurm(folder):
    """What srun sets, by hand: there is no Slurm here."""
    shared = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NTASKS": str(RANKS),
              "SLURM_NODEID": "0", "SLURM_TASKS_PER_NODE": str(RANKS), "SLURM_NNODES": "1"}
    return [start([RUN, *PROGRAM], folder,
                  environment(SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank), **shared))
            for rank in range(RANKS)]


WAYS = {
    "mpirun outside": one_command("mpirun", "--oversubscribe", "-n", RANKS, RUN, *PROGRAM),
    "traceagent-mpirun": one_command(MPIRUN, "--oversubscribe", "-n", RANKS, *PROGRAM),
    "torchrun": one_command(RUN, VENV / "bin/torchrun", "--standalone", "--no-python",
                            f"--nproc-per-node={RANKS}", *PROGRAM),
    "Slurm": slurm,
}


def shape_of(folder):
    """What must not depend on the launcher."""
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    node = folder / "run/traces/node0.json"
    if not node.exists():
        return {"files": files}
    events = [e for e in json.loads(node.read_text())["traceEvents"] if e["ph"] == "X"]
    collectives = collections.defaultdict(list)
    for event in events:
        if event["cat"] == "nccl" and "Collective name" in event["args"]:
            collectives[event["pid"]].append((event["name"], event["args"]["Seq"]))
    steps = {rank: sorted(e["name"] for e in events
                          if e["pid"] == rank and e["name"].startswith("ProfilerStep#"))
             for rank in {e["pid"] for e in events}}
    hashes = {e["args"]["comm hash"] for e in events if "comm hash" in e["args"]}
    return {"files": files, "steps": steps, "collectives": dict(collectives),
            "communicators": len(hashes)}


def run_by(way):
    with tempfile.TemporaryDirectory() as folder:
        # A folder within, since torchrun leaves log folders in TMPDIR.
        work = pathlib.Path(folder, "work")
        work.mkdir()
        processes = WAYS[way](work)
        try:
            ends = [(p.communicate(timeout=120), p.returncode) for p in processes]
        except subprocess.TimeoutExpired:  # nobody else ends the ranks
            for process in processes:
                kill_session(process.pid)
            raise
        said = [out_and_err[1] for out_and_err, _ in ends]
        lines = [line for text in said for line in text.splitlines() if line.startswith("traceagent:")]
        return shape_of(work), [code for _, code in ends], lines, said


def main():
    ways = dict(WAYS)
    if not (VENV / "bin/torchrun").exists():
        print("torchrun is not here and is left out: run packaging/setup --tests")
        del ways["torchrun"]
    problems, first = [], None
    for way in ways:
        shape, codes, lines, said = run_by(way)
        first = first or shape
        print(f"{way}: {len(shape['files'])} files, {sorted(shape.get('steps', {}))}; {lines}")
        if any(codes):
            problems.append(f"{way}: exit codes {codes}: {said}")
        if shape != first or len(shape.get("steps", {})) != RANKS:
            problems.append(f"{way}: {shape}, but {next(iter(ways))}: {first}")
        if len(lines) != 1:
            problems.append(f"{way}: {len(lines)} lines from one node: {lines}")
    print(*problems, sep="\n")
    return 1 if problems else 0


sys.exit(main())
