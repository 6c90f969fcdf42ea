#!/usr/bin/env python3
"""Two nodes that share the folder of the traces and nothing else: one index of both, and names that collide."""
import json
import signal
import sys
import time
import uuid

from jobs import STEADY, Checks, Place, end_of

checks = Checks()
check = checks.check
COMMAND = [STEADY, 20, 200]
NODES, PER_NODE = 2, 2
RANKS = NODES * PER_NODE
IS_DULL = "no times of kernels and copies"  # the simulated CUPTI of a program that is not nvcc's


def ranks_of_nodes(place, **more):
    """Each node has rings of its own, as it would have memory of its own."""
    run = uuid.uuid4().hex[:12]
    for node in range(NODES):
        rings = place.rings / f"{run}-{node}"
        rings.mkdir()
        for local in range(PER_NODE):
            yield place.agent(RANK=node * PER_NODE + local, LOCAL_RANK=local, WORLD_SIZE=RANKS,
                              LOCAL_WORLD_SIZE=PER_NODE, GROUP_RANK=node, TORCHELASTIC_RUN_ID=run,
                              TRACEAGENT_RING_FOLDER=rings, TRACEAGENT_OUTPUT_FOLDER="out", **more)


def run_nodes(place, what, runs=1, command=COMMAND, **more):
    running = [place.start(command, variables) for _ in range(runs) for variables in ranks_of_nodes(place, **more)]
    ended = [end_of(process) for process in running]
    check(all(result.code == 3 and not result.own_err() for result in ended), f"{what}: {ended}")
    return [line for result in ended for line in result.lines() if IS_DULL not in line]


def traces_of(place):
    return {name: place.trace(name) for name in place.files() if name.endswith(".json") and "/index/" not in name}


def rank_files(place):
    return {name: trace for name, trace in traces_of(place).items() if "sources" not in trace["distributedInfo"]
            and "ranks" not in trace["distributedInfo"]}


def entries_in(place, name="index.json"):
    return json.loads((place.path / "out/index" / name).read_text())["entries"]


def one_index():
    with Place() as place:
        lines = run_nodes(place, "index")
        check(len(lines) == 2 and all(": 2 ranks, " in line for line in lines), f"index: {lines}")
        entries = entries_in(place)
        saved = sorted(entry["saved"] for entry in entries if "saved" in entry)
        merged = sorted(entry["merged"] for entry in entries if "merged" in entry)
        check(sorted(f"out/{name}" for name in [*saved, *merged]) == sorted(traces_of(place)),
              f"index: {saved} {merged} of {place.files()}")
        check(merged == ["node0.json", "node1.json"] and len(saved) == RANKS, f"index: {saved} {merged}")
        parts = [entry for node in range(NODES) for entry in entries_in(place, f"index-node{node}.json")]
        check(entries == parts, "index: not what the nodes' have")


def killed_while_indexing():
    """Cycle upon cycle on both nodes, which are killed: the index is whole at any time and names what is there."""
    with Place() as place:
        more = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=1,repeat=0"}
        running = [place.start([STEADY, 100_000, 2], variables) for variables in ranks_of_nodes(place, **more)]
        try:
            index, seen, nodes, deadline = place.path / "out/index/index.json", 0, set(), time.monotonic() + 40
            while (seen < 60 or nodes != {0, 1}) and time.monotonic() < deadline:
                if index.exists():
                    entries = entries_in(place)
                    nodes = {entry["node_rank"] for entry in entries}
                    seen = len(entries)
                time.sleep(0.01)
            check(seen >= 60 and nodes == {0, 1}, f"killed: only {seen} entries of {nodes}")
        finally:
            for process in running:
                process.send_signal(signal.SIGKILL)
            for process in running:
                end_of(process)
        check(all((place.path / "out" / entry["saved"]).exists() for entry in entries_in(place)), "killed: files")


def one_name_for_all_ranks(overwrite):
    what = f"x.json, overwrite {overwrite}"
    with Place() as place:
        run_nodes(place, what, TRACEAGENT_OUTPUT_FILENAME="x.json", TRACEAGENT_OUTPUT_OVERWRITE=str(overwrite).lower())
        ranks = sorted(trace["distributedInfo"]["rank"] for trace in rank_files(place).values())
        check(ranks == list(range(RANKS)), f"{what}: files of ranks {ranks}: {place.files()}")
        for node in range(NODES):
            info = place.trace(f"out/node{node}.json")["distributedInfo"]
            check(info["ranks"] == [2 * node, 2 * node + 1], f"{what}: {info}")


def one_name_for_all_nodes():
    """The second is refused, in one line that says what to do, and the first node's file stays."""
    with Place() as place:
        lines = run_nodes(place, "all.json", TRACEAGENT_OUTPUT_MERGED="all.json")
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
        lines = [line for line in lines if "others have taken the name" not in line]
        results = [line for line in lines if " ranks, " in line or " rank, " in line]
        check(len(results) == 1, f"two runs: {lines}")
        check(all(str(place.path / "out") in line for line in lines), f"two runs: {lines}")


def main():
    one_index()
    killed_while_indexing()
    one_name_for_all_ranks(False)
    one_name_for_all_ranks(True)
    one_name_for_all_nodes()
    two_runs_at_once()
    sys.exit(checks.end())


main()
