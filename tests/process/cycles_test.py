#!/usr/bin/env python3
"""Several cycles in two epochs: a compressed file per rank and cycle, its name, and all in the node file."""

import collections
import re

from places import BUILD
from traced_run import report, run_ranks

RANKS, EPOCH, SAMPLES, TOKENS = 4, 20, 64, 1000
SCHEDULE = "skip_first=2,wait=1,warmup=1,active=2,repeat=3"
CYCLES = [(4, 5), (8, 9), (12, 13), (24, 25), (28, 29), (32, 33)]  # first and last step
COUNTED = {"epoch": r"\d+", "batch": r"\d{4}", "batch_in_epoch": r"\d+", "sample": r"\d+", "sample_in_epoch": r"\d+",
           "token": r"\d+", "token_in_epoch": r"\d+", "rank": r"\d", "world_size": r"\d", "local_rank": r"\d",
           "local_world_size": r"\d", "node_rank": r"\d"}
TIMED = {"total_wct": r"\d+\.\d{9}", "epoch_wct": r"\d+\.\d{9}", "batch_wct": r"\d+\.\d{9}"}
FORMATS = {"batch": ":04d", **dict.fromkeys(TIMED, ":.9f")}
VARIABLES = COUNTED | TIMED
TEMPLATE = "{run_name}" + "".join(f"-{{{name}{FORMATS.get(name, '')}}}" for name in VARIABLES) + ".json"
NAME = re.compile("run" + "".join(f"-(?P<{name}>{pattern})" for name, pattern in VARIABLES.items()) + r"\.json\.gz")


def counts_of(rank, last_step):
    """What a file's name says: counts after its last step, as Composer has it."""
    done, in_epoch = last_step + 1, last_step % EPOCH + 1
    return {"epoch": last_step // EPOCH, "batch": done, "batch_in_epoch": in_epoch,
            "sample": done * SAMPLES, "sample_in_epoch": in_epoch * SAMPLES, "token": done * TOKENS,
            "token_in_epoch": in_epoch * TOKENS, "rank": rank, "world_size": RANKS, "local_rank": rank,
            "local_world_size": RANKS, "node_rank": 0}


def time_problems(name, trace, truth):
    """Seconds between moments that the truth knows from both sides."""
    values = {key: float(name[key]) for key in TIMED}
    rank = int(name["rank"])
    ((begin, end, _, last),) = trace.windows(rank)
    step_begin, step_end = trace.steps(rank)[last]
    calls = [record for record in truth.records if record["kind"] == "call" and record["rank"] == rank]
    begins, ends = truth.marks(rank, "step_begin"), truth.marks(rank, "step_end")
    first = last // EPOCH * EPOCH
    # The first call, cudaGetDeviceCount, is not hooked; the agent starts within the second.
    bounds = {"total_wct": (calls[0]["end_ns"], calls[1]["begin_ns"]),
              "epoch_wct": (ends.get(first, calls[0]["end_ns"]), begins[first + 1]),
              "batch_wct": (step_begin - 1000, step_begin + 1000)}
    for key, (earliest, latest) in bounds.items():
        if not (end - latest) / 1e9 - 1e-6 <= values[key] <= (end - earliest) / 1e9 + 1e-6:
            yield f"{name[0]}: {key} is not between {(end - latest) / 1e9} and {(end - earliest) / 1e9}"
    if step_end != end:
        yield f"{name[0]}: the window ends at {end}, its last step at {step_end}"


def file_problems(run, truth, everything):
    seen = collections.Counter()
    for file in run.files():
        name = NAME.fullmatch(file)
        if file == "node0.json.gz":
            continue
        if name is None:
            yield f"unexpected file {file}"
            continue
        trace, rank = run.trace(file), int(name["rank"])
        yield from trace.problems()
        yield from time_problems(name, trace, truth)
        ((_, _, first, last),) = trace.windows(rank)
        seen[rank, first, last] += 1
        if {key: int(name[key]) for key in COUNTED} != counts_of(rank, last):
            yield f"{file} holds the steps to {last} of rank {rank}"
        if list(trace.steps(rank)) != list(range(first, last + 1)):
            yield f"{file}: steps {list(trace.steps(rank))}"
        everything.update(events_of(trace))
    wanted = {(rank, *cycle): 1 for rank in range(RANKS) for cycle in CYCLES}
    if seen != wanted:
        yield f"files of {sorted(seen.items())}"


def index_problems(run):
    """One entry for each file, with what its name and its content say."""
    saved = {entry["saved"]: entry for entry in run.index() if "saved" in entry}
    merged = [entry for entry in run.index() if "merged" in entry]
    if len(saved) + len(merged) != len(run.index()) or sorted([*saved, "node0.json.gz"]) != run.files():
        yield f"the index tells of {sorted(saved)}"
    if [entry["merged"] for entry in merged] != ["node0.json.gz"]:
        yield f"the index tells of node files {merged}"
    for file, entry in saved.items():
        trace, name = run.trace(file), NAME.fullmatch(file)
        (window,) = trace.windows(entry["rank"])
        known = (entry["begin_ns"], entry["end_ns"], entry["first_step"], entry["last_step"])
        if known != window or [entry[key] for key in ("rank", "epoch", "batch")] != [
                int(name[key]) for key in ("rank", "epoch", "batch")]:
            yield f"{file}: {window}, in the index {entry}"
        if entry["events"] != len(trace.events) or entry["bytes"] != (run.traces / file).stat().st_size:
            yield f"{file}: {len(trace.events)} events, in the index {entry}"
        if entry["cycle"] != CYCLES.index(window[2:]) or entry["recovered"]:
            yield f"{file}: in the index {entry}"


def events_of(trace):
    return collections.Counter((trace.begin_ns(event), event["pid"], event["tid"], event["name"],
                                str(event.get("dur")), str(event.get("args"))) for event in trace.events)


def cycles(folder):
    run = run_ranks(folder, RANKS, [BUILD / "programs/step_data_parallel", "--steps", 2 * EPOCH],
                    TRACEAGENT_SCHEDULE=SCHEDULE, TRACEAGENT_OUTPUT_GZIP="true",
                    TRACEAGENT_OUTPUT_FILENAME=TEMPLATE, TRACEAGENT_STEP_PER_EPOCH=EPOCH,
                    TRACEAGENT_STEP_SAMPLES=SAMPLES, TRACEAGENT_STEP_TOKENS=TOKENS)
    yield from index_problems(run)
    everything = collections.Counter()
    yield from file_problems(run, run.truth(), everything)
    node = run.trace("node0.json.gz")
    yield from node.problems()
    merged = events_of(node)
    print(f"{len(run.files())} files, {everything.total()} events, {merged.total()} of them merged")
    if merged != everything:
        yield f"only in the ranks' files: {list((everything - merged))[:3]}, in the node's: {list(merged - everything)[:3]}"
    for rank in range(RANKS):
        if [window[2:] for window in node.windows(rank)] != CYCLES:
            yield f"rank {rank}: node file of cycles {node.windows(rank)}"


report(cycles)
