#!/usr/bin/env python3
"""merge.include: other profilers' traces go into the node's file, on its clock; what is wrong with one is told, and
the node's file names what is not in it."""

import gzip
import json
import subprocess
import time

from places import BUILD
from traced_run import report, run_ranks

RANKS = 2
TOOL = BUILD / "bin/traceagent"
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


def incomplete_of(run):
    node = json.loads((run.traces / "node0.json").read_text())
    return {fault["file"]: fault["problem"] for fault in node["traceagent"]["incomplete"]}


def check_says(run):
    done = subprocess.run([TOOL, "check", run.traces / "node0.json"], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout


def trace_of_rank_zero(now_ns):
    event = {"ph": "X", "cat": "c", "name": "foreign", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    return json.dumps({"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": now_ns, "traceEvents": [event]})


def run_alone(folder, pattern, **more):
    return run_ranks(folder, 1, PROGRAM, TRACEAGENT_MERGE_INCLUDE=pattern,
                     TRACEAGENT_SCHEDULE="warmup=1,active=2,repeat=1", **more)


def told_by(run):
    return [line for line in run.err.splitlines() if "merge.include" in line]


def all_are_refused(folder):
    """A merge that adds no event says so in the file; once it can be read, no more."""
    (folder / "x.pt.trace.json").write_text("no trace\n")
    run = run_alone(folder, "../../*.pt.trace.json")
    faults = incomplete_of(run)
    if set(faults) != {"x.pt.trace.json"} or "byte 0" not in faults["x.pt.trace.json"] or len(told_by(run)) != 1:
        yield f"all are refused: {faults}, {run.err!r}"
    code, page = check_says(run)
    if code != 1 or "NO   incomplete            x.pt.trace.json: not a trace" not in page:
        yield f"all are refused: {code}, {page}"
    (folder / "x.pt.trace.json").write_text(trace_of_rank_zero(time.time_ns()))
    node = run.traces / "node0.json"
    done = subprocess.run([TOOL, "merge", node, "-o", node, "--force", "--include", folder / "*.pt.trace.json"],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or incomplete_of(run) or '"foreign"' not in node.read_text():
        yield f"mended: {done}, {incomplete_of(run)}"


def it_takes_too_long(folder):
    """What was to be included stands in the file with the command that includes it, which takes it away."""
    (folder / "x.pt.trace.json").write_text(trace_of_rank_zero(time.time_ns()))
    run = run_alone(folder, "../../*.pt.trace.json", TRACEAGENT_MERGE_TIMEOUT="1ms")
    faults = incomplete_of(run)
    why = faults.get("merge.include: ../../*.pt.trace.json", "")
    if len(faults) != 1 or "longer than merge.timeout" not in why or [f"traceagent: merge.include: {why}"] != told_by(run):
        yield f"too long: {faults}, {run.err!r}"
        return
    code, page = check_says(run)
    if code != 1 or "NO   incomplete            merge.include: ../../*.pt.trace.json: it took longer" not in page:
        yield f"too long: {code}, {page}"
    later = why.partition("run it later: traceagent ")[2]
    done = subprocess.run(["sh", "-c", f"{TOOL} {later}"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or incomplete_of(run) or '"foreign"' not in (run.traces / "node0.json").read_text():
        yield f"later: {done}, {incomplete_of(run)}"


def nothing_can_be_found(folder):
    """Told in one line, which says what helps."""
    (folder / "sub").mkdir()
    for pattern, word, more in [("../../[", "close it", {}), ("../../**/x", "for each depth", {}),
                                ("../../sub", "/sub/*.json", {}),
                                ("../../*.json", "output.merged is null", {"TRACEAGENT_OUTPUT_MERGED": "null"})]:
        run = run_alone(folder, pattern, TRACEAGENT_RUN_NAME=f"run{len(pattern)}{len(more)}", **more)
        told = told_by(run)
        if len(told) != 1 or word not in told[0] or pattern.rpartition("/")[2] not in told[0]:
            yield f"{pattern}: {run.err!r}"


def a_clock_is_missing(folder):
    (folder / "x.pt.trace.json").write_text(trace_of_rank_zero(0).replace('"baseTimeNanoseconds": 0, ', ""))
    code, page = check_says(run_alone(folder, "../../*.pt.trace.json"))
    if "no   clock                 it has none" not in page:
        yield f"no clock: {code}, {page}"


def some_are_wrong(folder):
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


def problems_of(folder):
    for test in (some_are_wrong, all_are_refused, it_takes_too_long, nothing_can_be_found, a_clock_is_missing):
        place = folder / test.__name__
        place.mkdir()
        yield from test(place)


report(problems_of)
