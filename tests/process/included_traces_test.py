#!/usr/bin/env python3
"""merge.include: other profilers' traces go into the node's file, on its clock; what is wrong with one is told."""

import gzip
import json
import time

from places import BUILD
from traced_run import report, run_ranks

RANKS = 2
PROGRAM = [BUILD / "programs/step_data_parallel", "--steps", "6"]


def write_foreign(folder, now_ns):
    """As PyTorch does: one compressed, one that is cut; and a file that is no trace."""
    for rank in range(RANKS):
        events = [{"ph": "X", "cat": "cpu_op", "name": f"foreign {i}", "pid": 4037, "tid": 1, "ts": i + 0.25, "dur": 1}
                  for i in range(10)]
        document = {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": now_ns, "traceEvents": events}
        text = json.dumps(document)
        path = folder / f"host_{rank}.pt.trace.json"
        if rank == 0:
            path.with_suffix(".json.gz").write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text[:-30])
    (folder / "notes.pt.trace.json").write_text("no trace\n")


def problems_of(folder):
    now_ns = time.time_ns()
    write_foreign(folder, now_ns)
    run = run_ranks(folder, RANKS, PROGRAM, TRACEAGENT_MERGE_INCLUDE="../../*.pt.trace.json*, none/*.json",
                    TRACEAGENT_SCHEDULE="warmup=1,active=2,repeat=1")
    node = json.loads((run.traces / "node0.json").read_text())
    foreign = [e for e in node["traceEvents"] if e.get("name", "").startswith("foreign")]
    times = sorted((e["pid"] % 1_000_000, node["baseTimeNanoseconds"] + round(e["ts"] * 1000)) for e in foreign)
    wanted = [(rank, now_ns + i * 1000 + 250) for rank in range(RANKS) for i in range(10 - rank)]
    if times != wanted:
        yield f"foreign events: {times}, not {wanted}"
    own = [e for e in node["traceEvents"] if e["ph"] == "X" and e["pid"] < RANKS]
    if {e["pid"] for e in own} != set(range(RANKS)) or not any(e["name"].startswith("ProfilerStep") for e in own):
        yield f"{len(own)} events of our own"
    told = [line for line in run.err.splitlines() if "merge.include" in line]
    if len(told) != 1 or "cut off" not in told[0] or "host_1.pt.trace.json" not in told[0]:
        yield f"told: {run.err!r}"
    merged = node["traceagent"]
    faults = {fault["file"]: fault["problem"] for fault in merged["incomplete"]}
    if set(faults) != {"host_1.pt.trace.json", "notes.pt.trace.json"} or "byte 0" not in faults["notes.pt.trace.json"]:
        yield f"incomplete: {faults}"
    if sorted(run.files()) != ["ep0-ba3-rank0.json", "ep0-ba3-rank1.json", "node0.json"]:
        yield f"files: {run.files()}"


report(problems_of)
