#!/usr/bin/env python3
"""CLOCK_REALTIME jumps an hour to and fro while a program is traced: the times within the trace are those of a clock that does
not jump, and it begins at one of the three times that there are."""
import sys
import time

from jobs import Checks, Place, calls_in
from places import BUILD, LIBRARY, need

PROGRAM = BUILD / "transparency/clock_jumps"
CALLS, PAUSES, PAUSE_US = 200, 40, 1000
checks = Checks()
check = checks.check


def main():
    clock = need(BUILD / "transparency/libraries/libjumping_clock.so", "the clock that jumps")
    with Place() as place:
        variables = place.agent(
            TRACEAGENT_SCHEDULE="warmup=0,active=100000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_STEP_MARK="call:cudaDeviceSynchronize",
            LD_PRELOAD=f"{clock}:{LIBRARY}",
            # The simulated GPU lives by that clock too: here it works within the calls.
            LD_LIBRARY_PATH=f"{BUILD}/transparency/synchronous:{BUILD}/sim/lib:{BUILD}/sim/cupti")
        before_s = time.time()
        result = place.run([need(PROGRAM, "tests/transparency/programs")], variables)
        after_s = time.time()
        check(result.code == 3, f"{result}")
        names = [name for name in place.files() if "rank" in name]
        if check(len(names) == 1, f"one rank file: {place.files()}"):
            trace = place.trace(names[0])
            calls = sorted(calls_in(trace), key=lambda event: event["ts"])
            begin_s = (int(trace["baseTimeNanoseconds"]) + calls[0]["ts"] * 1000) / 1e9
            span_us = calls[-1]["ts"] + calls[-1]["dur"] - calls[0]["ts"]
            check(len(calls) >= CALLS, f"{len(calls)} calls")
            check(any(before_s <= begin_s + jump_s <= after_s for jump_s in (-3600, 0, 3600)),
                  f"it begins at {begin_s}, the program between {before_s} and {after_s}")
            check((PAUSES - 1) * PAUSE_US <= span_us <= (after_s - before_s) * 1e6,
                  f"its calls span {span_us} us of {after_s - before_s} s")
            check(all(0 <= event["dur"] <= span_us for event in calls), "a duration is not that of a call")
            error_ns = trace["traceagent"]["clock"]["error_ns"]
            check(0 < error_ns < 1e9, f"an error of {error_ns} ns is stated, of jumps of an hour")
    return checks.end()


sys.exit(main())
