#!/usr/bin/env python3
"""Calls that come while another thread starts the agent pass through: each of them is counted as lost; none is lost before."""
import collections
import sys

from jobs import PROGRAMS, Checks, Place, calls_in, truth_of
from places import LIBRARY, need

checks = Checks()
check = checks.check
THREADS, CALLS = 4, 60
SLOW_START = PROGRAMS / "libslow_start.so"


def test(preload, is_slow, **options):
    with Place() as place:
        ended = place.run([PROGRAMS / "first_calls", THREADS, CALLS, 5000],
                          place.agent(LD_PRELOAD=preload, TRACEAGENT_OUTPUT_FOLDER="out", SIMGPU_TRUTH=place.path / "truth",
                                      TRACEAGENT_DOORS_CUPTI="false", **options))
        check(ended.code == 0, f"{ended}")
        made = sum(record["kind"] == "call" for record in truth_of(place.path / "truth"))
        trace = place.trace("out/node0.json")
        dropped = collections.Counter()
        for about in trace["traceagent"]["merged"]:
            dropped.update(about["dropped"])
        found, missed = len(calls_in(trace)), dropped["during_start"]
        print(f"{made} calls, {found} recorded, {missed} during the start")
        check(made == THREADS * CALLS and found + missed == made, f"{made} calls, {found} found, {dropped}")
        check(missed >= 10 * (THREADS - 1) if is_slow else True, f"a slow start: {missed} missed")
        check(set(dropped) <= {"during_start"}, f"{dropped}")
        told = f"{missed} lost (during_start {missed})" if missed else "0 lost"
        check(told in ended.lines()[-1], f"{told}: {ended.lines()}")


def main():
    need(LIBRARY, "the library")
    test(LIBRARY, False)
    test(f"{LIBRARY} {SLOW_START}", True)
    # Slices of time begin with the first call, too.
    test(LIBRARY, False, TRACEAGENT_STEP_MARK="every:10s", TRACEAGENT_SCHEDULE="warmup=0,active=100")
    return checks.end()


sys.exit(main())
