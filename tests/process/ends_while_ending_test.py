#!/usr/bin/env python3
"""A thread ends the process while another one works on: the exit code is that of the first, as without the agent, where
it takes microseconds; with it, until the node's other rank has ended and its file is merged."""
import sys
import time

from jobs import PROGRAMS, Checks, Place, bare_run, end_of
from places import SLOWDOWN

checks = Checks()
check = checks.check
PROGRAM = PROGRAMS / "ends_while_ending"
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=100000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out"}


def test_way(way):
    bare = bare_run([PROGRAM, way, 500])
    check(bare.code == 12, f"{way} alone: {bare}")
    with Place() as place:
        variables = place.ranks(2, **ALL)
        ranks = [place.start([PROGRAM, word, ms], each)
                 for word, ms, each in zip((way, "none"), (500, 1500), variables)]
        first, second = [end_of(rank) for rank in ranks]
        check((first.code, first.out, first.own_err()) == (12, "", []), f"{way}: {first}")
        check(second.code == 0, f"{way}, the other rank: {second}")
        check("out/node0.json" in place.files() and place.left_in_memory() == [],
              f"{way}: {place.files()} {place.left_in_memory()}")
        merged = place.trace("out/node0.json") if "out/node0.json" in place.files() else {}
        check(merged.get("distributedInfo", {}).get("ranks") == [0, 1], f"{way}: {merged.get('distributedInfo')}")


def test_awaited():
    """The thread that ends the process waits for the one that does then: no longer than alone, but for some work."""
    bare = bare_run([PROGRAM, "joined", 0])
    check(bare.code == 7, f"joined alone: {bare}")
    with Place() as place:
        began = time.monotonic()
        traced = place.run([PROGRAM, "joined", 0], place.agent(**ALL, TRACEAGENT_EXIT_TIMEOUT="30s"))
        check(traced.code == 7 and time.monotonic() - began < 20 * SLOWDOWN, f"joined: {traced}")
        check("out/node0.json" in place.files() and place.left_in_memory() == [], f"joined: {place.files()}")


for each in ("return", "exit", "_exit", "quick_exit", "three"):
    test_way(each)
test_awaited()
sys.exit(checks.end())
