#!/usr/bin/env python3
"""Two nodes' clocks brought together by `traceagent merge`: a real job's rank files, of which half say that
they are of another node, with a clock that is off and runs at another speed.

usage: clocks_test.py BUILD DEPS
"""

import json
import pathlib
import re
import shutil
import subprocess

from places import BUILD, SANITIZED, need
from traced_run import report

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
TRACES = need(BUILD / "tests/device_demo/run/traces", "the trace that device_truth_plain leaves")
OFF_NS, DRIFT = -3_217_000_123, 40e-6
BARRIER_NS, BARRIER_ERROR_NS = 250_000, 90_000
JUMP_NS = 50_000_000
TS = re.compile(rb'^\{"ts":(-?)(\d+)\.(\d{3})')


def nanoseconds(match):
    value = int(match[2]) * 1000 + int(match[3])
    return -value if match[1] else value


def rank_files():
    files = {int(path.stem[-1]): path for path in TRACES.glob("ep*-rank?.json")}
    assert sorted(files) == [0, 1, 2, 3], files
    return files


def base_of(text):
    return int(re.search(rb'"baseTimeNanoseconds": (\d+)', text)[1])


def times_in(text):
    return [base_of(text) + nanoseconds(match) for match in map(TS.match, text.split(b"\n")) if match]


def of_node_1(text, began_ns, ended_ns, jumps=0):
    """The file as a node would have written it whose clock is wrong, and was set forward so many times."""
    base = base_of(text)
    own_base = base + OFF_NS
    lines = []
    for line in text.split(b"\n"):
        match = TS.match(line)
        if match:
            true_ns = base + nanoseconds(match)
            ts = nanoseconds(match) + round(DRIFT * (true_ns - began_ns))
            ts += JUMP_NS * ((jumps + 1) * (true_ns - began_ns) // (ended_ns - began_ns + 1))
            sign, ts = ("-" if ts < 0 else ""), abs(ts)
            line = b'{"ts":%s%d.%03d' % (sign.encode(), ts // 1000, ts % 1000) + line[match.end():]
        lines.append(line)
    text = b"\n".join(lines).replace(b'"baseTimeNanoseconds": %d' % base,
                                     b'"baseTimeNanoseconds": %d' % own_base, 1)
    return text.replace(b'"node_rank": 0', b'"node_rank": 1')


def with_marks(text, rank, at_ns):
    """Composer's metadata events: right after a barrier on this rank's clock."""
    marks = b"".join(b'{"ph":"M","name":"%s","pid":%d,"tid":0,"args":{"value":%r}},\n' % (name, rank, value)
                     for name, value in ((b"clock_sync_timestamp_us", at_ns / 1000),
                                         (b"clock_sync_error_bound", BARRIER_ERROR_NS / 1000)))
    return text.replace(b'"traceEvents": [\n', b'"traceEvents": [\n' + marks, 1)


def write_nodes(folder, jumps=0, marks=False):
    folder.mkdir()
    texts = {rank: path.read_bytes() for rank, path in rank_files().items()}
    times = [ns for text in texts.values() for ns in times_in(text)]
    began_ns, ended_ns = min(times), max(times)
    for rank, text in texts.items():
        changed = text if rank < 2 else of_node_1(text, began_ns, ended_ns, jumps)
        if marks:
            late_ns = rank * BARRIER_ERROR_NS // 4
            changed = with_marks(changed, rank, began_ns + BARRIER_NS + late_ns + (OFF_NS if rank > 1 else 0))
        (folder / f"rank{rank}.json").write_bytes(changed)
    return folder


def merge(folder, *options):
    output = folder.parent / f"{folder.name}{''.join(options)}.json"
    done = subprocess.run([TRACEAGENT, "merge", folder, "-o", output, *options], text=True, timeout=60,
                          capture_output=True, stdin=subprocess.DEVNULL)
    return done, json.loads(output.read_text()) if output.exists() else None


def times_of(document):
    """{rank: [(cat, name, correlation, absolute ns)]} in the file's order."""
    times = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            times.setdefault(event["pid"], []).append(
                (event["cat"], event["name"], event["args"].get("correlation"),
                 document["baseTimeNanoseconds"] + round(event["ts"] * 1000)))
    return times


def truth():
    times = {}
    for path in rank_files().values():
        times |= times_of(json.loads(path.read_text()))
    return times


def moved(document):
    """How far each event is from where it was, by rank."""
    result = {}
    for rank, true_times in truth().items():
        now = times_of(document)[rank]
        assert [event[:3] for event in now] == [event[:3] for event in true_times], f"order of rank {rank}"
        result[rank] = [here[3] - there[3] for here, there in zip(now, true_times)]
    return result


def collectives(document):
    spans = {}
    for event in document["traceEvents"]:
        args = event.get("args", {})
        if event["ph"] == "X" and event["cat"] == "kernel" and "Seq" in args:
            begin = round(event["ts"] * 1000)
            spans.setdefault((args["comm hash"], args["Seq"]), []).append(
                (begin, begin + round(event["dur"] * 1000)))
    return {key: span for key, span in spans.items() if len(span) == 4}


def aligned_problems(document, method, tolerance_ns):
    about = document["traceagent"]["clocks"]
    first, second = about["nodes"]
    if (first["method"], second["method"]) != ("reference", method) or "reason" in about:
        yield f"methods: {about}"
        return
    if (first["ranks"], second["ranks"]) != ([0, 1], [2, 3]):
        yield f"ranks: {about}"
    off = moved(document)
    worst = max(abs(ns) for rank in (2, 3) for ns in off[rank])
    if any(off[0]) or any(off[1]):
        yield "the reference's times were moved"
    if worst > second["bound_ns"]:
        yield f"{worst} ns off, though said to be within {second['bound_ns']}"
    print(f"{method}: at most {worst} ns off, stated {second['bound_ns']}, by {second['collectives']} collectives")
    if not 0 < second["bound_ns"] < 2_000_000 or about["clock_sync_error_bound"] != second["bound_ns"] / 1000:
        yield f"bound: {about}"
    events = {event["pid"]: event["args"]["value"] for event in document["traceEvents"]
              if event["name"] == "clock_sync_error_bound" and event["ph"] == "M"}
    first_us = about["nodes"][0]["bound_ns"] / 1000  # of what its host calls' times are off
    if not 0 < first_us < 1000 or events != {0: first_us, 1: first_us, 2: second["bound_ns"] / 1000,
                                             3: second["bound_ns"] / 1000}:
        yield f"clock_sync_error_bound: {events}"
    if len(found := collectives(document)) < 4:
        yield f"only {len(found)} collectives of all ranks"
    for key, spans in found.items():
        early = max(begin for begin, _ in spans) - min(end for _, end in spans)
        if early > tolerance_ns:
            yield f"collective {key} ends {early} ns before its last rank has started"


def collective_cases(folder):
    nodes = write_nodes(folder / "nodes")
    for options in ((), ("--align", "collectives")):
        done, document = merge(nodes, *options)
        if done.returncode != 0:
            yield f"{options}: {done}"
        else:
            # What is allowed for the error of both nodes' times.
            yield from aligned_problems(document, "collectives", 1_000)
    done, document = merge(nodes, "--align=none")
    about = document["traceagent"].get("clocks", {"nodes": []})
    if [(node["method"], node["bound_ns"]) for node in about["nodes"]] != [("none", None)] * 2 or \
            about["clock_sync_error_bound"] is not None or "--align none" not in about["reason"] or \
            done.returncode != 0 or done.stdout.count("how far off is not known") != 1:
        yield f"none: {done} {about}"
    if {round(ns / 1e9, 1) for rank in (2, 3) for ns in moved(document)[rank]} != {-3.2}:
        yield "none: times were moved"
    done, document = merge(nodes, "--align=barrier")
    if done.returncode != 1 or document or "Composer's barrier" not in done.stderr:
        yield f"no marks: {done}"


def window_case(folder):
    """The first moments of all, once more beside the node's own file, whose clock is none of the merged file's."""
    nodes = write_nodes(folder / "window")
    window = ("--time", "begin", "+5ms")
    _, alone = merge(nodes, *window)
    ranks = [nodes / "rank2.json", nodes / "rank3.json"]
    made = subprocess.run([TRACEAGENT, "merge", *ranks, "-o", nodes / "node1.json"], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL)
    done, beside = merge(nodes, *window, "--force")
    if made.returncode or "left out" not in done.stdout or not times_of(alone) or times_of(alone) != times_of(beside):
        yield f"window: {made} {done}"


def set_case(folder):
    """Set once, forward: right outside of the time in which that must have been."""
    done, document = merge(write_nodes(folder / "set", jumps=1))
    about = document["traceagent"]["clocks"]["nodes"][1]
    steps = about.get("steps", [])
    if done.returncode != 0 or len(steps) != 1 or abs(steps[0]["by_ns"] + JUMP_NS) > 1_000_000:
        yield f"set: {done} {about}"
        return
    if "set by -" not in done.stdout:
        yield f"set: not said: {done.stdout}"
    true_times = truth()
    for rank in (2, 3):
        now = [event[3] for event in times_of(document)[rank]]
        for ns, (*_, true_ns) in zip(now, true_times[rank]):
            off = abs(ns - true_ns)
            own = true_ns + OFF_NS
            is_there = steps[0]["from_ns"] - 1_000_000 <= own <= steps[0]["until_ns"] - JUMP_NS + 1_000_000
            if off > (max(steps[0]["bound_ns"], about["bound_ns"]) if is_there else about["bound_ns"]):
                yield f"set: rank {rank} is {off} ns off at {own}, {about}"
                return


def impossible_cases(folder):
    # So often that each burst of collectives meets it: on a busy machine nine fell into the pauses between them,
    # where the tool finds each. Under a sanitizer the node's own two ranks meet it at different times: found first.
    nodes = write_nodes(folder / "jumped", jumps=999)
    done, document = merge(nodes)
    about = document["traceagent"].get("clocks", {})
    reason = about.get("reason", "")
    between_ranks = SANITIZED and "on one node that are no one collective's" in reason
    if done.returncode != 0 or not (between_ranks or "contradict each other" in reason):
        yield f"contradiction: {done} {about}"
    elif [node["method"] for node in about["nodes"]][1:] != ["none"] or about["clock_sync_error_bound"] is not None:
        yield f"contradiction: {about}"
    print(reason)
    done, document = merge(nodes, "--align=collectives")
    lines = done.stderr.splitlines()
    told = "on one node that" if between_ranks else "node 1"
    if done.returncode != 1 or document or len(lines) != 1 or told not in lines[0]:
        yield f"contradiction, asked for: {done}"


def barrier_case(folder):
    done, document = merge(write_nodes(folder / "marked", marks=True), "--align=barrier")
    if done.returncode != 0:
        yield f"barrier: {done}"
    else:
        yield from aligned_problems(document, "barrier", BARRIER_ERROR_NS)


def one_node_case(folder):
    same = folder / "one"
    same.mkdir()
    for path in rank_files().values():
        shutil.copy(path, same)
    done, document = merge(same)
    if done.returncode != 0 or "clocks" in document["traceagent"] or "clock" in done.stdout:
        yield f"one node: {done}"


def write_pytorch_run(folder, hosts, began_ns, first=1):
    """A profiled run of PyTorch's as its handler names the files: nothing in them says which run it is."""
    folder.mkdir(exist_ok=True)
    for rank, host in enumerate(hosts):
        events = [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20,
                   "ts": seq * 1000.0 + rank, "dur": 100.0 - rank,
                   "args": {"Collective name": "allreduce", "In msg nelems": 1000, "Group size": len(hosts),
                            "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": seq}}
                  for seq in range(first, first + 60)]
        events += [{"ph": "M", "name": "process_labels", "pid": 100 + rank, "tid": 0, "ts": 0, "args": {"labels": "CPU"}}]
        (folder / f"{host}_{100 + rank}.{began_ns // 10 ** 6}.pt.trace.json").write_text(json.dumps(
            {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(hosts)},
             "baseTimeNanoseconds": began_ns, "traceEvents": events}))
    return folder


def two_runs_case(folder):
    """Ranks and numbers of collectives begin anew in each run: none of them is a meeting of the two."""
    began, hour = 1_795_000_000_000_000_000, 3600 * 10 ** 9
    alone = write_pytorch_run(folder / "alone", ("nodeA", "nodeB"), began)
    done, document = merge(alone)
    if done.returncode != 0 or "reason" in document["traceagent"]["clocks"]:
        yield f"one run of PyTorch's: {done}"
    # A later profile of the run goes on counting, and parts of a file are still that file.
    write_pytorch_run(alone, ("nodeA", "nodeB"), began + hour, first=1001)
    parts = folder / "parts"
    parts.mkdir()
    for name, window in (("a", "0"), ("b", "20ms")):
        subprocess.run([TRACEAGENT, "merge", alone, "--time", f"+{window}", "+2h", "-o", parts / f"{name}.json"],
                       timeout=60, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    for done, document in (merge(alone, "--force"), merge(parts)):
        if done.returncode != 0 or "reason" in document["traceagent"].get("clocks", {}):
            yield f"two profiles of one run, or their parts: {done}"
    both = write_pytorch_run(folder / "both", ("nodeA", "nodeB"), began)
    write_pytorch_run(both, ("nodeC", "nodeD"), began + 2 * hour)
    done, document = merge(both)
    about = document["traceagent"]["clocks"]
    if "two runs" not in about.get("reason", "") or about["inconsistent"] != 60 or "two runs" not in done.stdout or \
            [node["method"] for node in about["nodes"]] != ["reference", "none", "none", "none"]:
        yield f"two runs: {done} {about}"
    done, document = merge(both, "--align=collectives")
    if done.returncode != 1 or document or "two runs" not in done.stderr:
        yield f"two runs, aligned by force: {done}"


def test(folder):
    for case in (collective_cases, window_case, set_case, impossible_cases, barrier_case, one_node_case,
                 two_runs_case):
        yield from case(pathlib.Path(folder))


report(test)
