#!/usr/bin/env python3
"""Traces of eight nodes with known clocks, ours and PyTorch's, merged: each time lies within the bound that is
stated, and that is small.

usage: clock_bounds_test.py BUILD DEPS
"""

import json
import pathlib
import subprocess

from clock_model import Job, unsure_share, untrue
from places import BUILD, need
from traced_run import report

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
MOST_BOUND_NS = 20_000
MOST_UNSURE = 0.08


def merge(files, *options):
    output = files[0].parent.with_suffix(".merged")
    done = subprocess.run([TRACEAGENT, "merge", *files, "-o", output, "--force", *options], text=True, timeout=100,
                          capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"merge: {done}")
    return done.stdout, json.loads(output.read_text())


def made(folder, name):
    (folder / name).mkdir()
    return folder / name


def aligned_problems(what, job, document):
    clocks = document["traceagent"]["clocks"]
    if "reason" in clocks or [node["method"] for node in clocks["nodes"]] != ["reference"] + 7 * ["collectives"]:
        yield f"{what}: not aligned: {clocks}"
        return
    for problem in untrue(job, document):
        yield f"{what}: {problem}"
    largest_ns = max(node["bound_ns"] for node in clocks["nodes"])
    unsure = max(unsure_share(job, node) for node in clocks["nodes"])
    print(f"{what}: within {largest_ns} ns, unsure for at most {unsure:.2%} of the time")
    if largest_ns > MOST_BOUND_NS:
        yield f"{what}: a bound of {largest_ns} ns"
    if unsure > MOST_UNSURE:
        yield f"{what}: unsure for {unsure:.2%} of the time"


def own_cases(folder):
    for ranks, late_ns in ((1, 400e3), (4, 400e3), (1, 1e6), (4, 1e6)):
        what = f"{ranks} ranks each, {late_ns / 1e3:.0f} us apart"
        job = Job(seed=2, ranks_per_node=ranks, late_ns=late_ns)
        _, document = merge(job.write_own(made(folder, what)))
        yield from aligned_problems(what, job, document)


def pytorch_cases(folder):
    job = Job(seed=11)
    for what, name in (("PyTorch", "rank{}.json"), ("PyTorch's hosts", "gpu-node-{}_4037.1711964646000.pt.trace.json")):
        _, document = merge(job.write_pytorch(made(folder, what), name))
        yield from aligned_problems(what, job, document)


class HangingJob(Job):
    """Its last call, of each rank, is a wait of ten minutes."""

    HANG_NS = 600e9

    def events(self, rank, base_ns, **names):
        yield from super().events(rank, base_ns, **names)
        clock, began_ns = self.clocks[rank // self.ranks_per_node], self.seconds * 1e9
        yield {"ts": clock.at(began_ns) - base_ns, "dur": clock.at(began_ns + self.HANG_NS) - clock.at(began_ns),
               "ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": rank, "tid": 1, "args": {}}


def late_end_case(folder):
    """Of the end of a slice ten minutes behind all events the bound says nothing, and the other times keep theirs."""
    job = HangingJob(seed=4, nodes=2, collectives=300, seconds=30)
    _, document = merge(job.write_own(made(folder, "late end")))
    about = document["traceagent"]["clocks"]["nodes"][1]
    end_ns = job.clocks[1].at(job.seconds * 1e9 + job.HANG_NS)
    if not any(part["from_ns"] <= end_ns <= part["until_ns"] for part in about.get("unsure", ())):
        yield f"late end: at {end_ns}: {about}"
    if about["bound_ns"] > MOST_BOUND_NS:
        yield f"late end: {about}"


def replace_in(path, *texts):
    text = path.read_text()
    for old, new in texts:
        text = text.replace(old, new)
    path.write_text(text)


def host_error_case(folder):
    """What the host's times are off on their own clocks, on both, is part of the bound."""
    job = Job(seed=5, nodes=2, collectives=300, seconds=30)
    files = job.write_own(made(folder, "host error"))
    bounds = []
    for text in ('"clock": {}', '"clock": {"error_ns": 7000.5}'):
        for path in files:
            replace_in(path, ('"dropped": {}', f'"dropped": {{}}, {text}'))
        _, document = merge(files)
        bounds.append([node["bound_ns"] for node in document["traceagent"]["clocks"]["nodes"]])
        for path in files:
            replace_in(path, (f', {text}', ''))
    if bounds[1] != [bounds[0][0] + 7001, bounds[0][1] + 2 * 7001]:
        yield f"host error: {bounds}"


def one_number_case(folder):
    """Two hosts have guessed one node's number: they have two clocks all the same."""
    job = Job(seed=3, nodes=2, collectives=300, seconds=30)
    files = job.write_own(made(folder, "one number"))
    for path, host in zip(files, "ab"):
        replace_in(path, ('"node_rank": 1', '"node_rank": 0'), ('"run1"', '"run0"'),
                   ('"distributedInfo": {', f'"distributedInfo": {{"host": "{host}", '))
    _, document = merge(files)
    nodes = document["traceagent"].get("clocks", {}).get("nodes", [])
    if [node["method"] for node in nodes] != ["reference", "collectives"]:
        yield f"one number: {nodes}"
    else:
        yield from untrue(job, document)


def one_machine_case(folder):
    """Nothing says that these ranks are of one clock, and all collectives allow it: none is moved."""
    job = Job(seed=12, same_clock=True)
    said, document = merge(job.write_pytorch(made(folder, "one machine")))
    nodes = document["traceagent"]["clocks"]["nodes"]
    off = [node for node in nodes if node["offset_ns"] != 0 or node["drift_ppm"] != 0 or node["bound_ns"] is None]
    if off or "clock_corrections" in document["distributedInfo"] or said.count("as it is, right within") != 7:
        yield f"one machine: {off} {said}"
    for problem in untrue(job, document):
        yield f"one machine: {problem}"
    _, document = merge(sorted((folder / "one machine").glob("*.json")), "--align", "collectives")
    if all(node["offset_ns"] == 0 for node in document["traceagent"]["clocks"]["nodes"]):
        yield "one machine: by collectives as asked for by name none was moved"


def other_run_case(folder):
    """Two PyTorch files of different attempts contradict each other: our own nodes are aligned all the same."""
    own = Job(seed=3, nodes=2, collectives=300, seconds=30)
    files = own.write_own(made(folder, "ours"))
    others = Job(seed=4, nodes=2, collectives=300, seconds=30).write_pytorch(made(folder, "other run"))
    for rank, path in enumerate(others):
        document = json.loads(path.read_text())
        document["distributedInfo"]["rank"] = 2 + rank
        for event in document["traceEvents"]:
            event["args"]["Seq"] += rank
        path.write_text(json.dumps(document))
    said, document = merge([*files, *others])
    methods = [node["method"] for node in document["traceagent"]["clocks"]["nodes"]]
    if methods != ["reference", "collectives", "none", "none"] or "of rank 2 and rank 3 contradict each other" not in said:
        yield f"other run: {methods} {said}"


def test(folder):
    folder = pathlib.Path(folder)
    for case in (own_cases, pytorch_cases, late_end_case, host_error_case, one_number_case, one_machine_case,
                 other_run_case):
        yield from case(folder)


report(test)
