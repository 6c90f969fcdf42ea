#!/usr/bin/env python3
"""A killed rank whose ring its peer cannot write whole: the ring stays, one line says how to get at it, and
that way works once the cause is gone. A run of the same key that comes later leaves it alone.

usage: kept_rings_test.py BUILD_FOLDER DEPS_FOLDER"""

import functools
import os
import re
import signal
import sys

import context  # noqa: F401
from fault_job import FAULTS
from fault_places import Names, read_places
from jobs import PROGRAMS, STEADY, TRACEAGENT, Checks, Place, calls_in, end_of, wait_until
from places import LIBRARY, need

LONG_NAMES = PROGRAMS / "long_names"
RECORDING = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=1000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
             "TRACEAGENT_OUTPUT_OVERWRITE": "true", "TRACEAGENT_RING_SIZE": "256KiB",
             "TRACEAGENT_EXIT_TIMEOUT": "3s", "TRACEAGENT_MERGE_TIMEOUT": "3s"}

checks = Checks()
check = checks.check


def until(condition, what):
    check(wait_until(condition), what)


def recover(place, *words):
    variables = {key: text for key, text in place.agent().items() if key != "LD_PRELOAD"}
    return place.run([TRACEAGENT, "recover", *words], variables)


def rings_in(place, rank):
    return sorted(place.rings.rglob(f"{rank}-*.ring"))


def said(process):
    """Without waiting for more."""
    os.set_blocking(process.stdout.fileno(), False)
    try:
        return os.read(process.stdout.fileno(), 4096).decode()
    except BlockingIOError:
        return ""


def kill_recording(place, rank, command, variables):
    """Dies when it has said on its standard output that it has recorded."""
    process = place.start(command, variables)
    try:
        until(lambda: re.search("step 10|ranges", said(process)), f"rank {rank} records")
    finally:
        process.kill()
        end_of(process)
    check(len(rings_in(place, rank)) == 1, f"rank {rank} leaves its ring")


def faulty(variables, rule, places=None):
    more = {"FAULTS_PLACES": str(places)} if places else {}
    return variables | {"LD_PRELOAD": f"{LIBRARY} {FAULTS}", "FAULTS": rule} | more


@functools.cache
def place_of_writing():
    """Where a trace's bytes are written; its first call there is for the rank's own file, the second for the
    run's index, the third for what is recovered."""
    names = Names(LIBRARY)
    with Place() as place:
        table = place.path / "places"
        end_of(place.start([STEADY, 10, 10], faulty(place.ranks(1, **RECORDING)[0], "", table)))
        found = [each for each in read_places(table) if each.function.name == "write"
                 and names.of(each.offset).startswith("trace::OutputFile::")]
    if len(found) != 1:
        sys.exit(f"FAILED: {len(found)} places in which a trace is written")
    return found[0]


def damage_identity(place):
    """The output folder in the ring, which its header's checksum covers, gets another name."""
    with open(rings_in(place, 1)[0], "r+b") as file:
        data = file.read(1 << 20)
        at = data.find(b"/out") + 1
        check(at > 0, "the ring names its folder")
        file.seek(at)
        file.write(b"tuo")


CAUSES = {  # command of the killed rank, faults of the one that recovers it, damage, how it is got at
    "no space": ([STEADY, 1000, 10, 10_000], lambda: place_of_writing().rule(4, "ENOSPC"), None, []),
    "no name": ([STEADY, 1000, 10, 10_000], lambda: "rename#3=EIO", None, []),
    "too large": ([LONG_NAMES, 2000], lambda: "", None, ["--any-size"]),
    "damaged": ([STEADY, 1000, 10, 10_000], lambda: "", damage_identity, None),
}


def check_kept(place, what, ended):
    """The ring is there, with one line of what to do."""
    rings = rings_in(place, 1)
    told = [line for line in ended.lines() if "stays in memory: traceagent recover /" in line]
    if not check(len(rings) == 1 and len(told) == 1, f"{what}: {place.left_in_memory()}, {ended}"):
        return None
    check(told[0].endswith(f"traceagent recover {rings[0]}"), f"{what}: {told}")
    check(len(ended.lines()) <= 6 and ended.code == 3, f"{what}: {ended}")
    about = place.trace("out/node0.json")["traceagent"]
    check("complete" not in place.trace("out/node0.json"), f"{what}: the node's file says it is complete: {about}")
    return rings[0]


def test_cause(what):
    command, faults, damage, words = CAUSES[what]
    with Place() as place:
        variables = place.ranks(2, **RECORDING)
        kill_recording(place, 1, command, variables[1])
        if damage:
            damage(place)
        ring = check_kept(place, what, end_of(place.start([STEADY, 10, 10], faulty(variables[0], faults()))))
        if ring is None:
            return
        if words is None:
            refused = recover(place, ring)
            check(refused.code == 1 and ring.exists(), f"{what}: refused: {refused}")
            discarded = recover(place, "--discard", ring.parent)
            check(discarded.code == 0 and not rings_in(place, 1), f"{what}: {discarded}, {place.left_in_memory()}")
            return
        if words:
            check(recover(place, ring).code == 1 and ring.exists(), f"{what}: as before")
        result = recover(place, *words, ring)
        check(result.code == 0 and "recovered" in result.out, f"{what}: {result}")
        names = [name for name in place.files() if name.startswith("out/ep") and "rank1" in name]
        check(len(names) == 1 and place.trace(names[0])["traceagent"]["recovered"] is True, f"{what}: {place.files()}")
        check(place.left_in_memory() == [], f"{what}: left {place.left_in_memory()}")


def test_next_run():
    """It claims the same ranks, and sets the run with the kept ring aside."""
    with Place() as place:
        variables = place.ranks(2, **RECORDING)
        kill_recording(place, 1, CAUSES["no name"][0], variables[1])
        check_kept(place, "next run", end_of(place.start([STEADY, 10, 10], faulty(variables[0], "rename#3=EIO"))))
        running = [place.start([STEADY, 10, 10], each) for each in variables]
        second = [end_of(process) for process in running]
        aside = [line for each in second for line in each.lines() if "an earlier run of this name" in line]
        check([each.code for each in second] == [3, 3] and len(aside) == 1, f"next run: {second}")
        node = next((name for name in place.files() if name.startswith("out/node0-pid")), "out/node0.json")
        ranks = {event["pid"] for event in calls_in(place.trace(node))}
        check(ranks == {0, 1} and place.trace(node)["complete"] is True, f"next run: {node}, {ranks}, {second}")
        if aside:
            result = recover(place, aside[0].rsplit(" ", 1)[1])
            check(result.code == 0 and place.left_in_memory() == [], f"next run: {result}")


def test_zero_elsewhere():
    """Who leaves the merge to another container takes away what it sees, but not unread."""
    with Place() as here, Place() as there:
        variables = here.ranks(3, **RECORDING)
        zero = variables[0] | {"TRACEAGENT_RING_FOLDER": str(there.rings),
                               "TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=2,repeat=1"}
        first = here.start([STEADY, 1000, 10, 10_000], zero)
        try:
            until(lambda: any("rank0" in name and name.endswith(".json") for name in here.files()), "zero's file")
            first.send_signal(signal.SIGSTOP)
            kill_recording(here, 2, [STEADY, 1000, 10, 10_000], variables[2])
            last = end_of(here.start([STEADY, 10, 10], variables[1]))
            check(last.code == 3 and "rank 2 died: recovered" in last.err, f"zero elsewhere: {last}")
            check(any("rank2" in name for name in here.files()), f"zero elsewhere: {here.files()}")
            check(here.left_in_memory() == [], f"zero elsewhere: left {here.left_in_memory()}")
        finally:
            first.kill()
            end_of(first)


def main():
    for path in (LIBRARY, FAULTS, STEADY, LONG_NAMES):
        need(path, path.name)
    for what in CAUSES:
        test_cause(what)
    test_next_run()
    test_zero_elsewhere()
    return checks.end()


sys.exit(main())
