#!/usr/bin/env python3
"""Each of the soak's rules of memory finds what it is there for, and lets a process be that is at rest.

usage: flatness_test.py BUILD DEPS"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "process"))

# The path above comes first: what is imported here lies there.
from jobs import Checks  # noqa: E402
from memory import Flatness  # noqa: E402

TURNS, TURN_S, RING_KIB = 180, 10, 65536
FLAT, FLAT_OUTSIDE_KIB = 0.05, 1024
# Columns of a row.
REST, OUTSIDE, PEAK, RING, DESCRIPTORS, THREADS = range(6)


def rows(outside_kib=lambda turn: 0, **changes):
    """Of half an hour, with what is taken outside the ring besides 5 MiB; {column: f(turn)} is added to that column."""
    table = []
    for turn in range(TURNS):
        outside = 5120 + outside_kib(turn)
        row = [RING_KIB + 6000 + outside, outside, RING_KIB + 6000 + outside + 13000, RING_KIB, 4, 7]
        for column, change in changes.items():
            row[globals()[column]] += change(turn)
        table.append(tuple(row))
    return table


def problems(table, bare=None):
    return list(Flatness(table, bare or rows()).problems(FLAT, FLAT_OUTSIDE_KIB))


def per_minute(kib):
    return lambda turn: int(kib * turn * TURN_S / 60)


FOUND = {
    "memory is not flat": rows(REST=lambda turn: 40 * turn),
    "memory outside the ring is not flat": rows(per_minute(40)),
    "memory outside the ring still grows": rows(per_minute(25)),
    "its peak grows": rows(PEAK=lambda turn: 40 * turn),
    "the ring's memory is not flat": rows(RING=lambda turn: 4 * (turn == TURNS - 1)),
    "descriptors are not flat": rows(DESCRIPTORS=lambda turn: turn >= TURNS // 2),
    "threads are not flat": rows(THREADS=lambda turn: turn // 60),
}
checks = Checks()
for words, table in FOUND.items():
    checks.check(any(problem.startswith(words) for problem in problems(table)), f"{words}: found {problems(table)}")
GOOD = {
    "one at rest": rows(),
    "one whose allocator touches its arenas in ten minutes": rows(lambda turn: 8 * min(turn, 60)),
    "one whose memory breathes": rows(lambda turn: 200 * (turn % 7 == 0)),
    "one that opens a file now and then": rows(DESCRIPTORS=lambda turn: turn % 5 == 0),
}
for words, table in GOOD.items():
    checks.check(not problems(table), f"{words}: {problems(table)}")
grows = rows(per_minute(40))
checks.check(not problems(grows, grows), "what the program does without the agent too is not the agent's")
sys.exit(checks.end())
