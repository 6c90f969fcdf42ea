#!/usr/bin/env python3
"""A process that is killed in its first second has a rate to convert its ticks by: the thread that writes wakes up for the
anchors of that second, which lie at doubling distances, where it would else sleep for 100 ms."""
import sys

from jobs import STEADY, Checks, Place
from places import need

STEPS, PAUSE_US = 4, 22_000
# At the start, 0, 1, 3, 7, 15, 31 and 63 ms after it and the end of the window. At its usual turns it would take five.
WANTED = 8
# How many it takes depends on when it is given a CPU: of so many runs one is enough.
RUNS = 5
checks = Checks()


def anchors_of_a_run():
    with Place() as place:
        ended = place.run([need(STEADY, "tests/programs"), STEPS, 1, PAUSE_US], place.agent(
            # Touching a ring takes anchors too: one that is touched at once.
            TRACEAGENT_RING_SIZE="1MiB", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_SCHEDULE=f"wait={STEPS - 1},warmup=0,active=1,repeat=1"))
        names = [name for name in place.files() if "rank" in name]
        if not checks.check(ended.code == 3 and len(names) == 1, f"{ended}, {place.files()}"):
            return 0
        return place.trace(names[0])["traceagent"]["clock"]["anchors"]


def main():
    taken = []
    while len(taken) < RUNS and (not taken or taken[-1] < WANTED):
        taken.append(anchors_of_a_run())
    print(f"anchors of {len(taken)} runs: {taken}")
    checks.check(taken[-1] >= WANTED, f"{taken} anchors in {STEPS * PAUSE_US} us, wanted {WANTED}")
    return checks.end()


sys.exit(main())
