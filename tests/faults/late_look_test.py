#!/usr/bin/env python3
"""A rank that loses its core between its last word and its look at the node, while local rank zero merges and
takes the run's folder away: it leaves the node file of an earlier run of the same key as it is.

usage: late_look_test.py BUILD_FOLDER DEPS_FOLDER"""

import os
import re
import signal
import sys

import context  # noqa: F401
from fault_job import FAULTS
from fault_places import Names, read_places
from jobs import STEADY, Checks, Place, end_of, wait_until
from places import LIBRARY, need

VARIABLES = {"TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=3,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
             "TRACEAGENT_RING_SIZE": "2MiB", "TRACEAGENT_MERGE_TIMEOUT": "20s"}

checks = Checks()
check = checks.check


def start(place, variables, faults="", **more):
    with_faults = {"LD_PRELOAD": f"{LIBRARY} {FAULTS}", "FAULTS": faults, **more} if faults or more else {}
    return place.start([STEADY, 10, 10, 10_000], variables | with_faults)


def last_look():
    """The second question for a note of the node's, in a usual rank's life: after it said that it has finished. The
    first comes with its start, of what killed jobs left."""
    with Place() as place:
        file = place.path / "places"
        variables = place.ranks(2, **VARIABLES)
        ranks = [start(place, variables[0]), start(place, variables[1], FAULTS_PLACES=file)]
        for rank in ranks:
            check(end_of(rank).code == 3, "a usual run")
        names = Names(LIBRARY)
        looks = [each for each in read_places(file)
                 if each.function.name == "access" and re.match(r"traceagent::process::has_been|process::has_been",
                                                               names.of(each.offset))]
        check(len(looks) == 1, f"one place asks for notes: {looks}")
        return looks[0].rule(2, "stop")


def is_stopped(process):
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None


def main():
    for path in (LIBRARY, FAULTS, STEADY):
        need(path, path.name)
    look = last_look()
    with Place() as place:
        variables = place.ranks(2, **VARIABLES)
        # Killed when all of it is written and its ring is gone: the next run sets the rest aside.
        earlier = end_of(start(place, variables[0], "unlinkat#3=kill"))
        check(earlier.code == -9, f"the earlier run: {earlier}")
        before = (place.path / "out/node0.json").read_bytes()
        zero = start(place, variables[0])
        check(wait_until(lambda: any("-0.ring" in name for name in place.left_in_memory())), "rank zero is there")
        late = start(place, variables[1], look)
        check(wait_until(lambda: is_stopped(late)), f"it stops at {look}")
        ended = end_of(zero)
        check(ended.code == 3 and "2 ranks" in ended.err, f"rank zero: {ended}")
        late.send_signal(signal.SIGCONT)
        ended = end_of(late)
        check(ended.code == 3 and ended.err == "", f"the late rank: {ended}")
        check((place.path / "out/node0.json").read_bytes() == before, "the earlier run's node file is as it was")
        nodes = [name for name in place.files() if "node0" in name]
        check(len(nodes) == 2, f"a node file of each run: {nodes}")
        check(place.left_in_memory() == [], f"left {place.left_in_memory()}")
    return checks.end()


sys.exit(main())
