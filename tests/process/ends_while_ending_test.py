#!/usr/bin/env python3
"""A thread ends the process while another one works on: the exit code is that of the first, as without the agent, where
it takes microseconds; with it, until the node's other rank has ended and its file is merged."""
import sys
import time

from jobs import PROGRAMS, STEADY, Checks, Place, bare_run, end_of, wait_until
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


def test_failure():
    """Who started the ranks hears of the one that fails: not after merge.timeout, in which the others wait for it."""
    with Place() as place:
        first, second = [place.start([STEADY, steps, 5, 20_000], each)
                         for steps, each in zip((20, 100_000), place.ranks(2, **ALL, TRACEAGENT_MERGE_TIMEOUT="1h"))]
        ended = end_of(first)
        lived = second.poll() is None
        check(ended.code == 3 and lived, f"the rank that fails: {ended}, the other one lives: {lived}")
        wait_until(lambda: "out/node0.json" in place.files())
        ranks = place.trace("out/node0.json")["distributedInfo"].get("ranks", [0])
        check(0 in ranks, f"the node's file: {ranks}")
        second.kill()
        end_of(second)


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
test_failure()
test_awaited()
sys.exit(checks.end())
