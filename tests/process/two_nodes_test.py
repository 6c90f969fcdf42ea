#!/usr/bin/env python3
"""Two nodes that share the folder of the traces: one index of both, and names that collide. What they may share
besides, on one machine: the folder of the rings."""
import json
import shutil
import signal
import sys
import time
import uuid

from jobs import STEADY, TRACEAGENT, Checks, Place, end_of
from places import LIBRARY

checks = Checks()
check = checks.check
COMMAND = [STEADY, 20, 200]
NODES, PER_NODE = 2, 2
RANKS = NODES * PER_NODE
LEFT_OVER = RANKS + 5  # a rank of an earlier, larger job
IS_DULL = "no times of kernels and copies"  # the simulated CUPTI of a program that is not nvcc's


def ranks_of_nodes(place, one_memory, **more):
    """Each node has rings of its own, as it would have memory of its own; or one machine is both."""
    run = uuid.uuid4().hex[:12]
    for node in range(NODES):
        rings = place.rings if one_memory else place.rings / f"{run}-{node}"
        rings.mkdir(exist_ok=True)
        for local in range(PER_NODE):
            yield place.agent(RANK=node * PER_NODE + local, LOCAL_RANK=local, WORLD_SIZE=RANKS,
                              LOCAL_WORLD_SIZE=PER_NODE, GROUP_RANK=node, TORCHELASTIC_RUN_ID=run,
                              **{"TRACEAGENT_RING_FOLDER": rings, "TRACEAGENT_OUTPUT_FOLDER": "out", **more})


def run_nodes(place, what, one_memory=False, runs=1, **more):
    running = [place.start(COMMAND, variables) for _ in range(runs)
               for variables in ranks_of_nodes(place, one_memory, **more)]
    ended = [end_of(process) for process in running]
    check(not any(path.is_file() for path in place.rings.rglob("*")), f"{what}: left {place.left_in_memory()}")
    check(all(result.code == 3 and not result.own_err() for result in ended), f"{what}: {ended}")
    return [line for result in ended for line in result.lines() if IS_DULL not in line]


def traces_of(place):
    return {name: place.trace(name) for name in place.files() if name.endswith(".json") and "/index/" not in name}


def rank_files(place):
    return {name: trace for name, trace in traces_of(place).items() if "sources" not in trace["distributedInfo"]
            and "ranks" not in trace["distributedInfo"]}


def check_node_file(place, what, node):
    name = f"out/node{node}.json"
    if not check(name in place.files(), f"{what}: no {name}"):
        return
    info = place.trace(name)["distributedInfo"]
    check(info["node_rank"] == node and info["ranks"] == [2 * node, 2 * node + 1], f"{what}: {info}")


def entries_in(place, name="index.json"):
    return json.loads((place.path / "out/index" / name).read_text())["entries"]


def ranks_anywhere(nodes, missing=None):
    """Open MPI's nodes have no numbers, nor need their ranks lie in a row (--map-by node) or be of one count: in no
    node's file is another's rank missed, and what is missing of it is told by what is sure."""
    what, size = f"ranks {nodes}, {missing} missing", sum(map(len, nodes))
    with Place() as place:
        run, running = uuid.uuid4().hex[:12], []
        for node, ranks in enumerate(nodes):
            rings = place.rings / f"{run}-{node}"
            rings.mkdir(exist_ok=True)
            for local, rank in enumerate(ranks):
                variables = place.agent(OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE=size, PMIX_NAMESPACE=run,
                                        OMPI_COMM_WORLD_LOCAL_RANK=local, OMPI_COMM_WORLD_LOCAL_SIZE=len(ranks),
                                        TRACEAGENT_RING_FOLDER=rings, TRACEAGENT_OUTPUT_FOLDER="out",
                                        TRACEAGENT_ENABLED=str(rank != missing).lower())
                running.append(place.start(COMMAND, variables))
        ended = [end_of(process) for process in running]
        lines = [line for result in ended for line in result.lines() if IS_DULL not in line]
        told = [line.split("nothing from ")[1] for line in lines if "nothing from" in line]
        wanted = [f"local rank {ranks.index(missing)} of node {nodes.index(ranks)}'s {len(ranks)}"
                  for ranks in nodes if missing in ranks]
        check(told == wanted, f"{what}: {lines}")
        sources = {trace["traceagent"]["identity"]["source"] for trace in rank_files(place).values()}
        check(sources == {"Open MPI; its node's number is a guess"}, f"{what}: {sources}")
        found = {tuple(trace["distributedInfo"]["ranks"]): (name, trace) for name, trace in traces_of(place).items()
                 if "ranks" in trace["distributedInfo"]}
        check(sorted(found) == sorted(tuple(rank for rank in ranks if rank != missing) for ranks in nodes),
              f"{what}: {list(found)}")
        for ranks, (name, trace) in found.items():
            is_whole = list(ranks) in nodes
            check((trace["traceagent"]["missing_ranks"], trace.get("complete", False)) == ([], is_whole),
                  f"{what}: {name}: {trace['distributedInfo']}")
            checked = place.run([TRACEAGENT, "check", name])
            check(("are missing" in checked.out or "no file of" in checked.out) != is_whole, f"{what}: {checked}")


def one_index(one_memory):
    with Place() as place:
        lines = run_nodes(place, "index", one_memory)
        check(len(lines) == 2 and all(": 2 ranks, " in line for line in lines), f"index: {lines}")
        for node in range(NODES):
            check_node_file(place, "index", node)
        entries = entries_in(place)
        saved = sorted(entry["saved"] for entry in entries if "saved" in entry)
        merged = sorted(entry["merged"] for entry in entries if "merged" in entry)
        check(sorted(f"out/{name}" for name in [*saved, *merged]) == sorted(traces_of(place)),
              f"index: {saved} {merged} of {place.files()}")
        check(merged == ["node0.json", "node1.json"] and len(saved) == RANKS, f"index: {saved} {merged}")
        parts = [entry for node in range(NODES) for entry in entries_in(place, f"index-node{node}.json")]
        check(entries == parts, "index: not what the nodes' have")


def index_without_node_files(one_memory):
    """Nobody waits for a node's end then: who saves last is in it all the same."""
    for what, more in {"no merge": {"TRACEAGENT_MERGE_MODE": "off"}, "merged null": {"TRACEAGENT_OUTPUT_MERGED": "null"},
                       "a refused name": {"TRACEAGENT_OUTPUT_MERGED": "ep0-ba7-rank{node_rank}.json"}}.items():
        for _ in range(3):
            with Place() as place:
                run_nodes(place, what, one_memory, TRACEAGENT_SCHEDULE="wait=2,warmup=1,active=4,repeat=2", **more)
                saved = sum("saved" in entry for entry in entries_in(place))
                parts = sum("saved" in entry for node in range(NODES) for entry in entries_in(place, f"index-node{node}.json"))
                check(saved == parts == 2 * RANKS, f"{what}: {saved} of {parts} saved files in index.json")


def killed_while_indexing(one_memory):
    """Cycle upon cycle on both nodes, which are killed: the index is whole at any time and names what is there, and
    each node is recovered by itself."""
    with Place() as place:
        more = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=1,repeat=0"}
        running = [place.start([STEADY, 100_000, 2], variables) for variables in ranks_of_nodes(place, one_memory, **more)]
        try:
            index, seen, ranks, deadline = place.path / "out/index/index.json", 0, set(), time.monotonic() + 40
            while (seen < 60 or len(ranks) < RANKS) and time.monotonic() < deadline:
                if index.exists():
                    entries = entries_in(place)
                    ranks = {entry["rank"] for entry in entries}
                    seen = len(entries)
                time.sleep(0.01)
            check(seen >= 60 and len(ranks) == RANKS, f"killed: only {seen} entries of {ranks}")
            if one_memory:
                merged = place.run([TRACEAGENT, "merge", "-o", "all.json", "out"])
                check(all(f"rank {rank} still runs" in merged.out for rank in range(RANKS)), f"killed: {merged}")
        finally:
            for process in running:
                process.send_signal(signal.SIGKILL)
            for process in running:
                end_of(process)
        check(all((place.path / "out" / entry["saved"]).exists() for entry in entries_in(place)), "killed: files")
        recovered = place.run([TRACEAGENT, "recover", *place.rings.iterdir()])
        for node in range(NODES):
            check_node_file(place, f"killed: {recovered}", node)


def one_name_for_ranks(name, overwrite):
    """No rank's file is replaced by another's, and where one had to take another name a line says what to do."""
    what = f"{name}, overwrite {overwrite}"
    with Place() as place:
        lines = run_nodes(place, what, TRACEAGENT_OUTPUT_FILENAME=name,
                          TRACEAGENT_OUTPUT_OVERWRITE=str(overwrite).lower())
        told = [line for line in lines if line.endswith(": put {rank} into output.filename")]
        # Of each node at most one; to overwrite them all, each is named by its rank from the start.
        check(len(told) == 0 if overwrite else 1 <= len(told) <= NODES, f"{what}: {lines}")
        check(len(lines) == len(told) + NODES, f"{what}: {lines}")
        ranks = sorted(trace["distributedInfo"]["rank"] for trace in rank_files(place).values())
        check(ranks == list(range(RANKS)), f"{what}: files of ranks {ranks}: {place.files()}")
        for node in range(NODES):
            check_node_file(place, what, node)


def one_name_for_all_nodes(one_memory):
    """The second is refused, in one line that says what to do, and the first node's file stays."""
    with Place() as place:
        lines = run_nodes(place, "all.json", one_memory, TRACEAGENT_OUTPUT_MERGED="all.json")
        results = [line for line in lines if ": 2 ranks, " in line]
        refused = [line for line in lines if line not in results]
        check(len(results) == 1 and len(refused) == 1, f"all.json: {lines}")
        check(all("all.json" in line for line in refused)
              and any(remedy in refused[0] for remedy in ("put {node_rank}", "choose another name")), f"all.json: {refused}")
        info = place.trace("out/all.json")["distributedInfo"]
        check(info["ranks"] in ([0, 1], [2, 3]), f"all.json: {info}")
        check(len(rank_files(place)) == RANKS, f"all.json: {place.files()}")


def two_runs_at_once():
    """Nothing of the one is replaced by the other, whoever comes first: each rank that records leaves its file."""
    with Place() as place:
        lines = run_nodes(place, "two runs", runs=2, TRACEAGENT_OUTPUT_FILENAME="x.json",
                          TRACEAGENT_OUTPUT_MERGED="all.json")
        keys = [(trace["distributedInfo"]["run_key"], trace["distributedInfo"]["rank"])
                for trace in rank_files(place).values()]
        # Who comes when the other has files there does not begin at all, and one of each node says so.
        off = sum("tracing is off" in line for line in lines)
        check(len(set(keys)) == len(keys), f"two runs: {keys}, {lines}")
        check(len(keys) == 2 * RANKS - off * PER_NODE, f"two runs: {keys}, {lines}")
        lines = [line for line in lines if ": written as " not in line]
        results = [line for line in lines if " ranks, " in line or " rank, " in line]
        check(len(results) == 1, f"two runs: {lines}")
        check(all(str(place.path / "out") in line for line in lines), f"two runs: {lines}")


def write_others(folder):
    folder.mkdir()
    for rank in range(RANKS):
        events = [{"ph": "X", "cat": "cpu_op", "name": f"of {rank}", "pid": 77, "tid": 1, "ts": 5.5, "dur": 1}]
        document = {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": time.time_ns(), "traceEvents": events}
        (folder / f"{folder.name}-{rank}.pt.trace.json").write_text(json.dumps(document))
    nobodys = {"ph": "X", "cat": "cpu_op", "name": "nobody's", "pid": 77, "tid": 1, "ts": 5.5, "dur": 1}
    document = {"baseTimeNanoseconds": time.time_ns(), "traceEvents": [nobodys]}
    (folder / "nobodys.pt.trace.json").write_text(json.dumps(document))
    document = {"distributedInfo": {"rank": LEFT_OVER}, **document, "traceEvents": [nobodys | {"name": "left over"}]}
    (folder / "left_over.pt.trace.json").write_text(json.dumps(document))


def included_by_their_node():
    """What other profilers left of a rank goes into its node's file alone, and what says no rank, or one that the job
    has not, into that of one node, so that those can be joined, all events of all; and is looked for in the folder that has the name, not in one that it matches as a
    pattern. The line and the index of the node count it."""
    with Place() as place:
        write_others(place.path / "o[1]")
        write_others(place.path / "o1")
        lines = run_nodes(place, "included", TRACEAGENT_OUTPUT_FOLDER="o[1]", TRACEAGENT_MERGE_INCLUDE="*.pt.trace.json")
        nobodys, left_over, events_of_all = [], [], 0
        for node in range(NODES):
            events = [event for event in place.trace(f"o[1]/node{node}.json")["traceEvents"] if event["ph"] != "M"]
            events_of_all += len(events)
            nobodys += [event["pid"] % 1_000_000 for event in events if event["name"] == "nobody's"]
            left_over += [event["pid"] % 1_000_000 for event in events if event["name"] == "left over"]
            told = [line for line in lines if f"node{node}.json: " in line and f", {len(events)} events, 0 lost" in line]
            check(len(told) == 1, f"included: {node}: {len(events)} events, told: {lines}")
            indexed = json.loads((place.path / f"o[1]/index/index-node{node}.json").read_text())["entries"][-1]
            check(indexed["events"] == len(events), f"included: {node}: {len(events)} events, in the index {indexed}")
            names = sorted(event["name"] for event in events if event["name"].startswith("of "))
            check(names == [f"of {node * PER_NODE + local}" for local in range(PER_NODE)], f"included: {node}: {names}")
        # Of none of the job's ranks.
        check(nobodys == [RANKS], f"included: without a rank: {nobodys}")
        check(left_over == [LEFT_OVER], f"included: of no rank of the job: {left_over}")
        result = place.run([TRACEAGENT, "merge", "o[1]/node0.json", "o[1]/node1.json", "-o", "all.json"])
        info = place.trace("all.json")["distributedInfo"]
        check(result.code == 0 and info["ranks"] == [*range(RANKS + 1), LEFT_OVER], f"included: {result}, {info}")
        events = [event for event in place.trace("all.json")["traceEvents"] if event["ph"] != "M"]
        check(len(events) == events_of_all, f"included: {len(events)} events of {events_of_all}: {result}")


def tool_that_hangs(place):
    """An installation whose tool has claimed what it is to include, and never comes to its node's file. Returns the
    library's path."""
    for folder in ("lib", "bin"):
        (place.path / folder).mkdir(mode=0o755)
    tool = place.path / "bin/traceagent"
    tool.write_text(f'#!/bin/sh\nln "$2" "$2.kept"\n{TRACEAGENT} "$@" > /dev/null 2>&1\nmv "$2.kept" "$2"\nsleep 100\n')
    tool.chmod(0o755)
    return shutil.copy(LIBRARY, place.path / "lib")


def killed_while_including():
    """What a killed tool had claimed of what names no rank is nobody's again, so that it can be had later, as the
    line says."""
    with Place() as place:
        write_others(place.path / "out")
        lines = run_nodes(place, "killed", LD_PRELOAD=tool_that_hangs(place), TRACEAGENT_MERGE_TIMEOUT="6s",
                          TRACEAGENT_MERGE_INCLUDE="*.pt.trace.json,o'clock")
        left = [path.name for path in (place.path / "out/index").glob(".included-*")]
        check(not left, f"killed: claims {left}")
        for node in range(NODES):
            told = [line for line in lines if "merge.timeout" in line and f"node{node}.json" in line]
            if not check(len(told) == 1, f"killed: {node}: {lines}"):
                continue
            later = told[0].partition("run it later: traceagent ")[2]
            result = place.run(["sh", "-c", f"{TRACEAGENT} {later}"])
            names = {event["name"] for event in place.trace(f"out/node{node}.json")["traceEvents"] if event["ph"] != "M"}
            check(result.code == 0 and f"of {node * PER_NODE}" in names, f"killed: {later}: {result}, {names}")
            check(("nobody's" in names) == (node == 0), f"killed: {node}: {names}")


def main():
    for one_memory in (False, True):
        one_index(one_memory)
        index_without_node_files(one_memory)
        killed_while_indexing(one_memory)
        one_name_for_all_nodes(one_memory)
    for name in ("x.json", "ba{batch}-l{local_rank}.json"):
        one_name_for_ranks(name, False)
        one_name_for_ranks(name, True)
    ranks_anywhere([[0, 2], [1, 3]])
    ranks_anywhere([[0, 2], [1, 3]], missing=2)
    ranks_anywhere([[0, 3], [1, 4], [2, 5]])
    ranks_anywhere([[0, 1, 2], [3, 4], [5, 6]])
    two_runs_at_once()
    included_by_their_node()
    killed_while_including()
    sys.exit(checks.end())


main()
