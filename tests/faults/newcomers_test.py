#!/usr/bin/env python3
"""Ranks that begin while another merges the node's files or takes the run's folder away, and end before that
goes on: killed or in good order, they are in the node's file, and nothing stays in memory.

Who merges is stopped in front of the call that gives the node's file its name, or of one that removes a file
of the run's folder (libfaults.so).

usage: newcomers_test.py BUILD_FOLDER DEPS_FOLDER"""

import os
import signal
import sys

import context  # noqa: F401
from fault_job import FAULTS
from jobs import STEADY, Checks, Place, calls_in, end_of, truth_of, wait_until
from places import LIBRARY, need

RECORDING = {"TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=1000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
             "TRACEAGENT_OUTPUT_OVERWRITE": "true", "TRACEAGENT_RING_SIZE": "2MiB"}
# Of a rank with one window: its own file is named before the node's.
POINTS = ("rename#2=stop", "unlinkat#1=stop", "unlinkat#3=stop")

checks = Checks()
check = checks.check


def until(condition, what):
    return check(wait_until(condition), what)


def is_stopped(process):
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None


def synchronizations(truth):
    return sum(record.get("function") == "cudaDeviceSynchronize" for record in truth_of(truth)) \
        if truth.exists() else 0


class Run:
    """Three ranks of one run; what is still there at the end is ended."""

    def __init__(self, place):
        self.place, self.started = place, []
        self.variables = place.ranks(3, **RECORDING, SIMGPU_TRUTH=place.path / "{rank}.truth",
                                     TRACEAGENT_MERGE_TIMEOUT="200ms")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.wait()

    def truth(self, rank):
        return self.place.path / f"{rank}.truth"

    def start(self, rank, steps, faults=""):
        variables = dict(self.variables[rank])
        if faults:
            variables |= {"LD_PRELOAD": f"{LIBRARY} {FAULTS}", "FAULTS": faults}
        self.started.append(self.place.start([STEADY, steps, 10, 10_000], variables))
        return self.started[-1]

    def start_merger(self, is_second, point):
        """Stopped at the point; in a second merge it is rank 1, which ran on when rank 0 had merged."""
        if not is_second:
            merger = self.start(0, 10, point)
        else:
            merger = self.start(1, 100, point)  # a second, for a busy machine
            until(lambda: synchronizations(self.truth(1)) > 3, "rank 1 records")
            merger.send_signal(signal.SIGSTOP)
            until(lambda: is_stopped(merger), "rank 1 is stopped")
            first = end_of(self.start(0, 10))
            check(first.code == 3 and "rank 1 still runs" in first.err, f"rank 0: {first}")
            merger.send_signal(signal.SIGCONT)
            until(lambda: not is_stopped(merger), "rank 1 goes on")
        until(lambda: is_stopped(merger), f"it stops at {point}")
        return merger

    def run_newcomer(self, is_killed):
        newcomer = self.start(2, 1000 if is_killed else 10)
        if is_killed:
            until(lambda: synchronizations(self.truth(2)) > 10, "the newcomer records")
            newcomer.kill()
        ended = end_of(newcomer)
        check(ended.code == (-9 if is_killed else 3), f"the newcomer: {ended}")


def calls_of(trace, rank):
    return sum(event["pid"] == rank for event in calls_in(trace))


def recorded_calls(truth):
    """From the third step's begin on; all that follow are published before they are made."""
    calls = sorted((record for record in truth_of(truth) if record["kind"] == "call"),
                   key=lambda record: record["number"])
    begins = [i for i, record in enumerate(calls) if record["function"] == "cudaDeviceSynchronize"]
    return len(calls) - begins[3]


def test(is_second, point, is_killed):
    what = f"{'second' if is_second else 'first'} merge, {point}, newcomer {'killed' if is_killed else 'ended'}"
    with Place() as place, Run(place) as run:
        merger = run.start_merger(is_second, point)
        run.run_newcomer(is_killed)
        merger.send_signal(signal.SIGCONT)
        ended = end_of(merger)
        check(ended.code == 3, f"{what}: {ended}")
        if not check("out/node0.json" in place.files(), f"{what}: {place.files()}, {ended}"):
            return
        trace = place.trace("out/node0.json")
        for rank in (0, 1, 2) if is_second else (0, 2):
            found, wanted = calls_of(trace, rank), recorded_calls(run.truth(rank))
            # The simulator writes a call down when it returns: the last one may be under way.
            check(found - wanted in ((0, 1) if rank == 2 and is_killed else (0,)),
                  f"{what}: rank {rank}: {found} calls, truth {wanted}: {ended}")
        check(place.left_in_memory() == [], f"{what}: left {place.left_in_memory()}: {ended}")


def main():
    for path in (LIBRARY, FAULTS, STEADY):
        need(path, path.name)
    for is_second in (False, True):
        for point in POINTS:
            for is_killed in (False, True):
                test(is_second, point, is_killed)
    return checks.end()


sys.exit(main())
