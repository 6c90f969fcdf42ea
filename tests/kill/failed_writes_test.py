#!/usr/bin/env python3
"""Files that cannot be written, where nothing is killed: every event is in a file in the end, by a second try or
by `traceagent recover`, or it is counted as lost. The truth is the simulator's.

usage: failed_writes_test.py BUILD DEPS [CASE...]"""

import functools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "process"), str(HERE.parent / "faults")]

# The paths above come first: what is imported here lies there.
from fault_places import Names, read_places  # noqa: E402
from jobs import Checks  # noqa: E402
from killed_job import WINDOWS, KilledJob  # noqa: E402
from places import ARGUMENTS, BUILD, LIBRARY, need  # noqa: E402
from published import Comparison, dropped  # noqa: E402
from trace_file import Trace  # noqa: E402

KEPT = "what could not be written stays in memory: traceagent recover "
NO_SPACE = "No space left on device"
# Without the device's records a window is as large as its calls.
HOST_ALONE = {"TRACEAGENT_DOORS_CUPTI": "false"}

checks = Checks()
check = checks.check


@functools.cache
def writing():
    """Where the bytes of files are written. A window's file is small: one call there for it, and one for the
    run's index now and then; the third is for a window that is not the first."""
    names = Names(LIBRARY)
    with KilledJob() as job:
        job.start(faults="close#99999=EIO").end()
        found = [place for place in read_places(job.path / "places0") if place.function.name == "write"
                 and names.of(place.offset).startswith("trace::OutputFile::")]
    if len(found) != 1:
        sys.exit(f"FAILED: {len(found)} places in which a trace is written")
    return found[0]


def said(process):
    return [line for line in process.err.splitlines() if line.startswith("traceagent: ")]


def lost_windows(process):
    """[(windows, events)]"""
    told = [re.search(r"(\d+) windows of the schedule with (\d+) events are lost", line) for line in said(process)]
    return [(int(match[1]), int(match[2])) for match in told if match]


def exact(job, what, file, rank=0):
    """The file holds all of the rank's calls, once each."""
    trace = job.trace(file)
    compared = Comparison(job.truth(rank), trace, rank, WINDOWS, killed=False)
    check(trace is not None and compared.published > 0 and compared.problems == [],
          f"{what}: {file}: {compared.problems[:3]}")
    lost = [about["dropped"] for about in trace.about if about["dropped"]] if trace is not None else []
    check(lost == [], f"{what}: {file}: lost: {lost}")


def kept_then_recovered(job, what, rings=1):
    """One line of it, and the way that it names works."""
    told = [line for process in job.end() for line in said(process) if KEPT in line]
    here = [name for name in job.left_in_memory() if name.endswith(".ring")]
    if not check(len(told) == 1 and len(here) == rings, f"{what}: {job.processes}, {job.left_in_memory()}"):
        return
    done = job.tool("recover", told[0].rsplit(" ", 1)[1])
    check(done.code == 0 and done.err == "", f"{what}: {done}")
    check(job.left_in_memory() == [], f"{what}: left in memory: {job.left_in_memory()}")


def test_last():
    """The last windows, and all that comes after them: the index and the node's file too."""
    with KilledJob() as job:
        ended = job.start(faults=writing().rule(3, "ENOSPC", lasts=True)).end()
        check(ended.code == 3 and any(NO_SPACE in line for line in said(ended)), f"last: {ended}")
        check(0 < len(job.rank_files()) < 3 and all(Trace(path).document["complete"] for path in job.rank_files()),
              f"last: {job.rank_files()}")
        kept_then_recovered(job, "last")
        check(len(job.rank_files()) == 3, f"last: {job.rank_files()}")
        exact(job, "last", "out/node0.json")


def test_once():
    """The disk is full for a moment: what could not be written then is written at the end."""
    with KilledJob() as job:
        ended = job.start(faults=writing().rule(3, "ENOSPC")).end()
        check(ended.code == 3 and sum(NO_SPACE in line for line in said(ended)) == 1 and len(said(ended)) == 2,
              f"once: {ended}")
        check(job.left_in_memory() == [], f"once: left in memory: {job.left_in_memory()}")
        check(len(job.rank_files()) == 3 and job.trace("out/node0.json").document["complete"] is True,
              f"once: {job.rank_files()}")
        exact(job, "once", "out/node0.json")


def test_all():
    """No file at all; and where nobody merges."""
    for name, more in {"all": {}, "no merge": {"TRACEAGENT_OUTPUT_MERGED": "null"}}.items():
        with KilledJob() as job:
            ended = job.start(faults=writing().rule(1, "EIO", lasts=True), **more).end()
            check(ended.code == 3 and not list(job.path.rglob("*.json*")), f"{name}: {ended}")
            kept_then_recovered(job, name)
            check(len(job.rank_files()) == 3, f"{name}: {job.rank_files()}")
            if more:
                check(job.tool("merge", "out", "-o", "out/node0.json").code == 0, f"{name}: merge")
            exact(job, name, "out/node0.json")


def test_no_room():
    """Windows of a fifth of the ring: half of it holds two, the first is given up and counted."""
    with KilledJob() as job:
        ended = job.start(calls=1900, faults=writing().rule(1, "ENOSPC", lasts=True), **HOST_ALONE).end()
        lost = lost_windows(ended)
        kept_then_recovered(job, "no room")
        trace = job.trace("out/node0.json")
        if not check(trace is not None and len(lost) == 1, f"no room: {ended}"):
            return
        compared = Comparison(job.truth(0), trace, 0, WINDOWS, killed=False, may_drop=True)
        counted = dropped(trace, 0, "not_written")
        check(lost[0][1] == counted > 0, f"no room: said {lost}, counted {counted}")
        check(compared.found > 0 and compared.found + counted == compared.published and compared.problems == [],
              f"no room: {compared.found} found and {counted} counted of {compared.published}: {compared.problems}")
        check(len(job.rank_files()) == 3 - lost[0][0], f"no room: {lost}, {job.rank_files()}")


def test_later_file_tells():
    """What was given up stands in the next file that can be written."""
    with KilledJob() as job:
        # The first window fails three times: when it closes, when it must make room, at the end.
        job.start(calls=4500, faults=f"{writing().rule(1, 'ENOSPC')},{writing().rule(2, 'ENOSPC')}",
                  **HOST_ALONE).end()
        check(job.left_in_memory() == [], f"later file: left in memory: {job.left_in_memory()}")
        trace = job.trace("out/node0.json")
        compared = Comparison(job.truth(0), trace, 0, WINDOWS, killed=False, may_drop=True)
        counted = dropped(trace, 0, "not_written")
        check(counted > 0 and compared.found + counted + dropped(trace, 0, "ring_full") == compared.published,
              f"later file: {compared.found} found and {counted} counted of {compared.published}")


def test_full():
    """Windows larger than the ring, which is full of one that cannot be written: what is given up is counted with
    what it had itself lost."""
    with KilledJob() as job:
        ended = job.start(calls=2500, faults=writing().rule(1, "ENOSPC", lasts=True), TRACEAGENT_RING_SIZE="512KiB",
                          **HOST_ALONE).end()
        if any(KEPT in line for line in said(ended)):
            kept_then_recovered(job, "full")
        trace = job.trace("out/node0.json")
        compared = Comparison(job.truth(0), trace, 0, WINDOWS, killed=False, may_drop=True)
        ring_full = dropped(trace, 0, "ring_full") if trace is not None else 0
        lost = sum(events for _, events in lost_windows(ended))
        check(lost > 0 and compared.found + lost + ring_full == compared.published,
              f"full: {compared.found} found, {lost} said, {ring_full} counted of {compared.published}: {ended}")


def test_rank():
    """One of two ranks: the other's file stays, says what it lacks, and is made anew."""
    with KilledJob(ranks=2) as job:
        job.start(rank=1, faults=writing().rule(1, "ENOSPC", lasts=True))
        job.start(rank=0)
        job.end()
        node = job.trace("out/node0.json")
        check(node is not None and "complete" not in node.document and "could not write all" in str(node.document),
              f"rank: {job.processes}")
        exact(job, "rank", "out/node0.json", rank=0)
        kept_then_recovered(job, "rank")
        for rank in (0, 1):
            exact(job, "rank", "out/node0.json", rank)
        check("could not write all" not in str(job.trace("out/node0.json").document), "rank: the new file lacks nothing")


def test_next_run():
    """One of the same key finds the ring, and has it set aside."""
    with KilledJob(ranks=2) as job:
        job.start(rank=1, faults=writing().rule(1, "ENOSPC", lasts=True))
        job.start(rank=0)
        first = job.as_generation("first")
        job.start(rank=1, TRACEAGENT_OUTPUT_FOLDER="second")
        job.start(rank=0, TRACEAGENT_OUTPUT_FOLDER="second")
        aside = [line for process in job.end() for line in said(process) if "an earlier run of this name" in line]
        check(len(aside) == 1, f"next run: {job.processes}")
        for rank in (0, 1):
            exact(job, "next run", "second/node0.json", rank)
        if aside:
            done = job.tool("recover", aside[0].rsplit(" ", 1)[1])
            check(done.code == 0 and job.left_in_memory() == [], f"next run: {done}, {job.left_in_memory()}")
            trace = job.trace("out/node0.json")
            for rank in first.ranks:
                compared = Comparison(first.truth(rank), trace, rank, WINDOWS, killed=False)
                check(compared.published > 0 and compared.problems == [], f"next run: {compared.problems[:3]}")


def main():
    for path in (LIBRARY, BUILD / "programs/libfaults.so", BUILD / "programs/steady"):
        need(path, path.name)
    cases = {name.removeprefix("test_"): case for name, case in globals().items() if name.startswith("test_")}
    for name in ARGUMENTS or cases:
        cases[name]()
    return checks.end()


sys.exit(main())
