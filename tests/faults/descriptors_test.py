#!/usr/bin/env python3
"""The agent's files have high numbers while it reads and writes them: a job that closes one of its own
descriptors gets that number with its next open().

A job is stopped in front of each call of the agent's that moves bytes, and its table is looked at. Another asks for
the lowest number all the time: only while a file is being opened may it be another's.

usage: descriptors_test.py BUILD_FOLDER DEPS_FOLDER"""

import os
import pathlib
import re
import signal
import sys
import time

import context  # noqa: F401
from fault_job import FAULTS
from fault_places import read_places
from jobs import PROGRAMS, STEADY, TIMEOUT, Checks, Place, end_of, variables_of
from places import LIBRARY, need

LOWEST_NUMBER = PROGRAMS / "lowest_number"
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


OPENING = ("open", "openat", "socket", "pipe2", "epoll_create1", "eventfd", "memfd_create", "dup", "fcntl")


def lowest_numbers(place, variables):
    """(asked, how often it was another number, in how many unbroken runs, by how much it differs in the end)."""
    ended = end_of(place.start([LOWEST_NUMBER, 100, 50, 5000], variables))
    numbers = re.fullmatch(r"asked (\d+), others (\d+), times (\d+), in the end (-?\d+)\n", ended.out)
    check(ended.code == 0 and numbers, f"the lowest number: {ended}")
    return [int(number) for number in numbers.groups()] if numbers else [1, 1, 1, 1]


def test_lowest_number():
    """Windows begin and end 12 times."""
    more = {"TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_SCHEDULE": "wait=3,warmup=1,active=4,repeat=0",
            "TRACEAGENT_RING_SIZE": "2MiB"}
    with Place() as place:
        _, others, _, end = lowest_numbers(place, variables_of())
        check(others == end == 0, f"without the agent: {others} others, {end} in the end")
    with Place() as place:
        places = place.path / "places"
        faults = {"LD_PRELOAD": f"{LIBRARY} {FAULTS}", "FAULTS": "", "FAULTS_PLACES": places}
        asked, others, times, end = lowest_numbers(place, place.agent(**more, **faults))
        opened = sum(each.calls for each in read_places(places) if each.function.name in OPENING)
        files = len([name for name in place.files() if name.startswith("out/ep")])
    print(f"of {asked} lowest numbers {others} were others, at {times} times; "
          f"{files} files, {opened} calls that open one")
    check(files > 5 and asked > 1000, f"too little was seen: {files} files, {asked} asked")
    check(end == 0, f"in the end another number: {end}")
    check(times <= opened, f"{others} of {asked} others, at {times} times, {opened} opened")


def main():
    for path in (LIBRARY, FAULTS, STEADY, LOWEST_NUMBER):
        need(path, path.name)
    test()
    test_lowest_number()
    return checks.end()


sys.exit(main())
