#!/usr/bin/env python3
"""Two ranks that cannot read each other's rings: whoever ends first, the node's file holds both, and what
stays in memory is told of.

usage: unread_rings_test.py BUILD_FOLDER DEPS_FOLDER"""

import json
import sys

import context  # noqa: F401
from fault_job import FAULTS, Place
from fault_places import Names, read_places
from places import LIBRARY, need
from scenarios import JOB, OPTIONS

WAYS = ("ranks", "ranks_zero_last")


def place_of_opening(way):
    """Where the agent opens a ring that is another's."""
    names = Names(LIBRARY)
    with Place() as place:
        place.run([JOB, way, 2], **OPTIONS)
        found = [each for each in read_places(place.table)
                 if each.function.name == "open" and names.of(each.offset) == "ring::open_ring"]
    if len(found) != 1:
        sys.exit(f"FAILED: {way}: {len(found)} places in which a ring is opened")
    return found[0]


def problems_of(way, opening):
    with Place() as place:
        ended = place.run([JOB, way, 2], faults=opening.rule(1, "EMFILE", True), **OPTIONS)
        files, left = place.files(), place.left_in_memory()
    if ended.code != 3:
        yield f"the job ends with {ended.code}: {ended.err}"
    node = json.loads(files.get("out/node0.json", b"{}"))
    ranks = {event["pid"] for event in node.get("traceEvents", ()) if event["ph"] == "X"}
    if ranks != {0, 1}:
        yield f"of ranks {ranks} in the node's file: {sorted(files)}, {ended.lines()}"
    if left and not any("see `traceagent recover`" in line for line in ended.problem_lines()):
        yield f"left in memory and not told: {left}"


def main():
    for path in (LIBRARY, FAULTS, JOB):
        need(path, path.name)
    problems = []
    for way in WAYS:
        problems += [f"FAILED: {way}: {problem}" for problem in problems_of(way, place_of_opening(way))]
    print(*problems, f"{len(WAYS)} ways, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


sys.exit(main())
