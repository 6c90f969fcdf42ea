#!/usr/bin/env python3
"""The main job as tools/demo runs it, on the simulated GPU: mpirun, four ranks, the default options.

Leaves its files in BUILD/tests/demo_job for the tests of the viewers, which come after it.
"""
import json
import os
import shutil
import subprocess
import sys

from places import BUILD, need

RANKS = 4
FOLDER = BUILD / "tests/demo_job"
# Of the default schedule: one step of warm-up, four recorded, saved as batch 5.
STEPS = [1, 2, 3, 4]
WANTED = sorted(["run/traces/index/index.json", "run/traces/node0.json", *(f"run/traces/ep0-ba5-rank{r}.json" for r in range(RANKS))])


def run_job(preload):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRACEAGENT_")}
    environment |= {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "TRACEAGENT_RUN_NAME": "run",
                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-n", str(RANKS), *preload, BUILD / "bin/train_demo"]
    return subprocess.run(command, cwd=FOLDER, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=100)


def collectives_of(events, rank):
    return [(e["args"]["Seq"], e["name"], e["args"]["In msg nelems"], e["args"]["comm hash"])
            for e in events if e["pid"] == rank and e.get("cat") == "nccl" and "Collective name" in e["args"]]


def nesting_problems(events):
    """X events of one lane are apart or inside one another; in nanoseconds, so that none is rounded."""
    open_ends = {}
    for event in events:
        if event["ph"] != "X":
            continue
        begin = round(event["ts"] * 1000)
        end = begin + round(event["dur"] * 1000)
        ends = open_ends.setdefault((event["pid"], event["tid"]), [])
        while ends and ends[-1] <= begin:
            ends.pop()
        if ends and end > ends[-1]:
            yield f"{event['name']} at {event['ts']} of rank {event['pid']} runs out of the event around it"
        ends.append(end)


def node_file_problems(path):
    document = json.loads(path.read_text())
    events = [e for e in document["traceEvents"] if e["ph"] != "M"]
    times = [e["ts"] for e in events]
    if times != sorted(times):
        yield "the node file is not sorted"
    yield from nesting_problems(events)
    first = collectives_of(events, 0)
    print(f"{len(events)} events, {len(first)} collectives of rank 0: {first[:1]} to {first[-1:]}")
    if not first:
        yield "rank 0 has no collective"
    for rank in range(RANKS):
        steps = sorted(int(e["name"].split("#")[1]) for e in events
                       if e["pid"] == rank and e["name"].startswith("ProfilerStep#"))
        if steps != STEPS:
            yield f"rank {rank}: steps {steps}, not {STEPS}"
        if collectives_of(events, rank) != first:
            yield f"rank {rank}: other collectives than rank 0: {collectives_of(events, rank)}"


def problems():
    bare, traced = run_job([]), run_job([BUILD / "bin/traceagent-run"])
    if (bare.stdout, bare.returncode) != (traced.stdout, traced.returncode) or bare.returncode:
        yield f"bare: {bare}, traced: {traced}"
    found = sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.is_file())
    if found != WANTED:
        yield f"files {found}, not {WANTED}"
    lines = [line for line in traced.stderr.splitlines() if line.startswith("traceagent:")]
    print(*lines, sep="\n")
    if len(lines) not in (1, 2):
        yield f"{len(lines)} lines to the user from one node"
    if (FOLDER / WANTED[-1]).exists():
        yield from node_file_problems(FOLDER / WANTED[-1])


def main():
    need(shutil.which("mpirun") or "/none", "mpirun")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    found = list(problems())
    print(*found, sep="\n")
    return 1 if found else 0


sys.exit(main())
