#!/usr/bin/env python3
"""Finished files that found no room in the queue of uploads: none is forgotten, whoever is killed, and none stays
on the disk that `keep: 0` would have removed.

usage: waiting_uploads_test.py BUILD DEPS [CASE...]"""

import functools
import pathlib
import shutil
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "process"), str(HERE.parent / "faults")]

# The paths above come first: what is imported here lies there.
from fault_places import Names, read_places  # noqa: E402
from jobs import Checks  # noqa: E402
from killed_job import LIMIT_S, WINDOWS  # noqa: E402
from places import ARGUMENTS, BUILD, LIBRARY, need  # noqa: E402
from published import Comparison  # noqa: E402
from remote import RemoteJob  # noqa: E402

checks = Checks()
check = checks.check


def shut(job):
    """A file where the folder of the queue is to be."""
    (job.path / "out").mkdir(exist_ok=True)
    (job.path / "out/.traceagent-upload").touch()


def wait_for(condition):
    deadline = time.monotonic() + LIMIT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def all_arrive(job, what, files):
    job.kill_uploaders()
    done = job.tool("upload", "--resume", "out")
    arrived = sorted(path.name for path in job.there.glob("[!.]*"))
    check(done.code == 0 and len(arrived) == files and not list(job.not_arrived()),
          f"{what}: {arrived}, {list(job.not_arrived())}, {done}")
    check(job.left_in_memory() == [], f"{what}: left in memory: {job.left_in_memory()}")


def exact(job, what, ranks, name="out/node0.json"):
    trace = job.trace(name)
    for rank in ranks:
        compared = Comparison(job.truth(rank), trace, rank, WINDOWS, killed=False)
        check(trace is not None and compared.published > 0 and compared.problems == [],
              f"{what}: rank {rank}: {compared.problems[:3]}")


@functools.cache
def place_of(function, caller):
    """Where it is called most: a folder that has to be made first is another place."""
    names = Names(LIBRARY)
    with RemoteJob() as job:
        job.start(faults="close#99999=EIO").end()
        found = [place for place in read_places(job.path / "places0") if place.function.name == function
                 and names.of(place.offset).startswith(caller)]
    if not found:
        sys.exit(f"FAILED: {caller} does not call {function}")
    return max(found, key=lambda place: place.calls)


def is_stopped(process):
    return (pathlib.Path("/proc") / str(process.pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def killed_when_finished(job):
    """Rank 0 ends while the queue is shut, waits for rank 1 and is killed. True: so it was."""
    shut(job)
    one = job.start(rank=1, faults=place_of("renameat2", "trace::OutputFile").rule(1, "stop"))
    ready = wait_for(lambda: is_stopped(one))
    zero = job.start(rank=0)
    ready = ready and wait_for(lambda: job.has_finished(zero))
    zero.kill()
    zero.end()
    return check(ready and zero.code == -signal.SIGKILL, f"killed when finished: {zero}")


def test_merged_by_another():
    """The last of the ranks finds them beside the dead one's ring."""
    with RemoteJob(ranks=2) as job:
        if killed_when_finished(job):
            (job.path / "out/.traceagent-upload").unlink()
            job.processes[1].send(signal.SIGCONT)
            job.end()
            exact(job, "merged by another", (0, 1))
            all_arrive(job, "merged by another", 7)


def test_recovered():
    """All are dead: `traceagent recover` queues them."""
    with RemoteJob(ranks=2) as job:
        if killed_when_finished(job):
            (job.path / "out/.traceagent-upload").unlink()
            job.processes[1].kill()
            job.end()
            done = job.tool("recover", job.rings)
            check(done.code == 0 and "waited for room in the queue of uploads: queued" in done.out,
                  f"recovered: {done}")
            exact(job, "recovered", (0,))
            all_arrive(job, "recovered", len(job.rank_files()) + 1)


def appending():
    """Where the journal of uploads is written."""
    return place_of("write", "trace::append_record")


def test_next_run():
    """A run of the same key finds the ring of one that was killed before its last try, and has it set aside."""
    place = place_of("open", "trace::open_in_folder")
    alone = {"TRACEAGENT_OUTPUT_MERGED": "null"}  # who merges leaves a note of that
    with RemoteJob(ranks=2) as job:
        shut(job)
        # Once for each window, once before it says that it has finished.
        killed = job.start(rank=1, faults=place.rule(5, "kill"), **alone).end()
        check(killed.code == -signal.SIGKILL, f"next run: {killed}")
        (job.path / "out/.traceagent-upload").unlink()
        job.as_generation("first")
        # Of the two the first to come may have it set aside: rank 0 has not been there.
        job.wait_for_ring_of(job.start(rank=1, TRACEAGENT_OUTPUT_FOLDER="second", **alone))
        job.start(rank=0, TRACEAGENT_OUTPUT_FOLDER="second", **alone)
        aside = [line for process in job.end() for line in process.err.splitlines()
                 if "an earlier run of this name" in line]
        if check(len(aside) == 1, f"next run: {job.processes}"):
            done = job.tool("recover", aside[0].rsplit(" ", 1)[1])
            check(done.code == 0 and "3 files waited for room" in done.out, f"next run: {done}")
            job.kill_uploaders()
            shutil.rmtree(job.there, ignore_errors=True)  # of the second run
            all_arrive(job, "next run", 3)


def test_last_try():
    """The third window's file is queued at the very last try: before the queue hears that the run has ended."""
    place = appending()
    with RemoteJob(keep=0) as job:
        ended = job.start(faults=",".join(place.rule(call, "ENOSPC") for call in (3, 4, 5))).end()
        told = [line for line in ended.err.splitlines() if "it is not queued: tried again" in line]
        check(ended.code == 3 and len(told) == 1, f"last try: {ended}")
        all_arrive(job, "last try", 4)
        check(job.rank_files() == [], f"last try: these stay: {job.rank_files()}")
        # The node's file has no more than was still here when it was made.
        job.tool("merge", *sorted(job.there.glob("ep*.json")), "-o", "all.json")
        exact(job, "last try", (0,), "all.json")


def test_end_is_told_again():
    """Once, the queue has no room for the end of the run itself."""
    place = appending()
    with RemoteJob(keep=0) as job:
        ended = job.start(faults=place.rule(5, "ENOSPC")).end()
        check(ended.code == 3 and "No space left" not in ended.err, f"end is told again: {ended}")
        all_arrive(job, "end is told again", 4)
        check(job.rank_files() == [], f"end is told again: these stay: {job.rank_files()}")


def main():
    for path in (LIBRARY, BUILD / "programs/libfaults.so", BUILD / "programs/steady",
                 BUILD / "bin/traceagent-upload"):
        need(path, path.name)
    cases = {name.removeprefix("test_"): case for name, case in globals().items() if name.startswith("test_")}
    for name in ARGUMENTS or cases:
        cases[name]()
    return checks.end()


sys.exit(main())
