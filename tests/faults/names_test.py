#!/usr/bin/env python3
"""Two that want one name at one instant: who is stopped (libfaults.so) in front of the call that names its file
finds the name taken when it goes on. Nothing is replaced, nothing is lost.

usage: names_test.py BUILD_FOLDER DEPS_FOLDER"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import uuid

import context  # noqa: F401
from fault_job import FAULTS
from jobs import STEADY, TIMEOUT, TRACEAGENT, Checks, Place, calls_in, end_of, variables_of
from places import LIBRARY, need

COMMAND = [STEADY, 20, 10]
IS_DULL = "no times of kernels and copies"

checks = Checks()
check = checks.check


def end_with_parent():
    """It stands still for ever where this test is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


def is_stopped(process):
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None


class Stopped:
    """A rank that stands still before the call; what of it is still there at the end is ended."""

    def __init__(self, place, variables, call):
        self.process = subprocess.Popen(
            list(map(str, COMMAND)), cwd=place.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, preexec_fn=end_with_parent,
            env=variables | {"LD_PRELOAD": f"{LIBRARY} {FAULTS}", "FAULTS": f"{call}=stop"})
        deadline = time.monotonic() + TIMEOUT
        while not is_stopped(self.process) and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        check(is_stopped(self.process), f"it stops at {call}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        return end_of(self.process)


def said(ended):
    return [line for line in ended.lines() if IS_DULL not in line]


def nodes(place, **more):
    """One rank on each of two nodes, which share the folder of the traces and nothing else."""
    run = uuid.uuid4().hex[:12]
    for node in range(2):
        rings = place.rings / f"node{node}"
        rings.mkdir()
        yield place.agent(RANK=node, LOCAL_RANK=0, WORLD_SIZE=2, LOCAL_WORLD_SIZE=1, GROUP_RANK=node,
                          TORCHELASTIC_RUN_ID=run, TRACEAGENT_RING_FOLDER=rings, TRACEAGENT_OUTPUT_FOLDER="out",
                          TRACEAGENT_OUTPUT_MERGED="all.json", TRACEAGENT_OUTPUT_OVERWRITE="true", **more)


def hidden_files(place):
    return [path.name for path in (place.path / "out").iterdir() if path.name.startswith(".")]


def ranks_in(place, name):
    return {event["pid"] for event in calls_in(place.trace(name))}


def test_two_nodes_merge():
    """Each is allowed to replace files. With rename(2) its own file, its index and that of both nodes were named before."""
    with Place() as place:
        zero, one = nodes(place)
        with Stopped(place, zero, "rename#4") as first:
            second = place.run(COMMAND, one)
            ended = first.go_on()
        check(ended.code == 3 and second.code == 3, f"two nodes: {ended}, {second}")
        check([": 1 rank, " in line for line in said(ended)] == [True], f"two nodes: the first: {ended}")
        refused = said(second)
        check(len(refused) == 1 and "all.json: node 0 of this run has it" in refused[0]
              and "put {node_rank}" in refused[0], f"two nodes: the second: {second}")
        check(ranks_in(place, "out/all.json") == {0}, "two nodes: the first's file")
        check([ranks_in(place, f"out/ep0-ba7-rank{rank}.json") for rank in range(2)] == [{0}, {1}], "two nodes: ranks")
        check(hidden_files(place) == [], f"two nodes: left: {hidden_files(place)}")


def test_two_nodes_are_recovered():
    """A merge that was killed leaves its claim: another node's recovery takes a name of its own, its own node's
    makes the file."""
    with Place() as place:
        zero, one = nodes(place)
        with Stopped(place, zero, "rename#4") as first:
            first.process.kill()
            end_of(first.process)
        with Stopped(place, one, "rename#1") as second:
            second.process.kill()
            end_of(second.process)
        for node in (1, 0):
            done = place.run([TRACEAGENT, "recover", place.rings / f"node{node}"], variables_of())
            check(done.code == 0, f"recovered: node {node}: {done}")
        merged = {frozenset(ranks_in(place, name)): name for name in place.files() if "all" in name}
        check(merged.get(frozenset({0})) == "out/all.json" and "out/all-pid" in merged.get(frozenset({1}), ""),
              f"recovered: {merged}")
        check(hidden_files(place) == [], f"recovered: left: {hidden_files(place)}")


def test_two_runs_write():
    """Neither may replace files, and both have found the folder empty."""
    with Place() as place:
        def run(name):
            rings = place.rings / name
            rings.mkdir()
            return place.agent(TRACEAGENT_RING_FOLDER=rings, TRACEAGENT_OUTPUT_FOLDER="out",
                               TRACEAGENT_OUTPUT_MERGED="all.json")
        with Stopped(place, run("first"), "renameat2#1") as first:
            second = place.run(COMMAND, run("second"))
            ended = first.go_on()
        check(ended.code == 3 and second.code == 3, f"two runs: {ended}, {second}")
        check([": 1 rank, " in line for line in said(second)] == [True], f"two runs: the second: {second}")
        own = f"ep0-ba7-rank0-pid{first.process.pid}.json"
        lines = said(ended)
        check(len(lines) == 2 and f"written as {place.path}/out/{own}" in lines[0] and "refused to replace" in lines[1],
              f"two runs: the first: {ended}")
        files = sorted(name for name in place.files() if "/index/" not in name)
        if not check(files == sorted(["out/all.json", "out/ep0-ba7-rank0.json", f"out/{own}"]), f"two runs: {files}"):
            return
        whole = [place.trace(f"out/{name}") for name in (own, "ep0-ba7-rank0.json")]
        keys = {trace["distributedInfo"]["run_key"] for trace in whole}
        check(len(keys) == 2 and all(trace["complete"] is True for trace in whole), f"two runs: {keys}")
        check(len({len(calls_in(trace)) for trace in whole}) == 1, "two runs: both hold all calls")
        saved = [entry["saved"] for name in ("first", "second") for entry in index_of(place, name)]
        check(sorted(saved) == sorted([own, "ep0-ba7-rank0.json"]), f"two runs: index: {saved}")


def index_of(place, name):
    """Of two runs in one folder the later has its key in the name."""
    indexes = sorted((place.path / "out/index").iterdir(), key=lambda path: len(path.name))
    text = indexes[0 if name == "second" else -1].read_text()
    return [entry for entry in json.loads(text)["entries"] if "saved" in entry]


def main():
    need(LIBRARY, "the library")
    need(STEADY, "tests/programs/steady")
    test_two_nodes_merge()
    test_two_nodes_are_recovered()
    test_two_runs_write()
    sys.exit(checks.end())


main()
