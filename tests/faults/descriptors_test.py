#!/usr/bin/env python3
"""The agent's files have high numbers while it reads and writes them: a job that closes one of its own
descriptors gets that number with its next open().

A job is stopped in front of each call of the agent's that moves bytes, and its table is looked at.

usage: descriptors_test.py BUILD_FOLDER DEPS_FOLDER"""

import os
import pathlib
import signal
import sys
import time

import context  # noqa: F401
from fault_job import FAULTS
from jobs import STEADY, TIMEOUT, Checks, Place, end_of
from places import LIBRARY, need

LOWEST = 500  # agent/event/high_descriptor.hpp
STOPS = "read#1+=stop,write#1+=stop,pread#1+=stop,pwrite#1+=stop,poll#1+=stop"

checks = Checks()
check = checks.check


def is_stopped(process):
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG) is not None


def open_files(process):
    found = {}
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            found[int(link.name)] = os.readlink(link)
        except OSError:
            pass
    return found


def test():
    with Place() as place:
        (place.path / "there").mkdir()
        more = {"TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=2,repeat=4",
                "TRACEAGENT_OUTPUT_KEEP": "2", "TRACEAGENT_RING_SIZE": "2MiB", "LD_PRELOAD": f"{LIBRARY} {FAULTS}",
                # One thread of the agent's: stopped by another's call, it would be met in the midst of opening.
                "TRACEAGENT_DOORS_CUPTI": "false", "TRACEAGENT_COUNTERS_SOURCES": "none",
                "FAULTS": STOPS, "TRACEAGENT_EXIT_TIMEOUT": f"{TIMEOUT}s"}
        process = place.start([STEADY, 30, 10, 10_000], place.agent(**more))
        ours, low, stops = set(), set(), 0
        deadline = time.monotonic() + TIMEOUT
        try:
            while process.poll() is None and time.monotonic() < deadline:
                if not is_stopped(process):
                    time.sleep(0.001)
                    continue
                stops += 1
                for number, path in open_files(process).items():
                    if not path.startswith((str(place.path), str(place.rings))):
                        continue
                    ours.add(path.rsplit("/", 1)[-1].split("-")[0])
                    if number < LOWEST:
                        low.add(path)
                process.send_signal(signal.SIGCONT)
            ended = end_of(process)
        finally:
            process.kill()
            process.wait()
        print(f"{stops} stops; of the agent's: {sorted(ours)}")
        check(ended.code == 3, f"the job: {ended}")
        check(stops > 30 and {"index.json", "keep.lock"} <= ours and any(name.startswith(".ep0") for name in ours),
              f"too little was seen: {stops} stops, {sorted(ours)}")
        check(not low, f"under low numbers: {sorted(low)}")


def main():
    for path in (LIBRARY, FAULTS, STEADY):
        need(path, path.name)
    test()
    return checks.end()


sys.exit(main())
