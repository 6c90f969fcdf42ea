#!/usr/bin/env python3
"""What a program calls its streams, devices and threads stands on their lanes and in the metadata.

usage: named_streams_test.py BUILD DEPS
"""
import re
import sys

from jobs import PROGRAMS, Checks, Place, truth_of, variables_of
from places import LIBRARY, need

checks = Checks()
check = checks.check
PROGRAM = PROGRAMS / "named_streams"
# No step: all is kept from the start.
# No step is found; the schedule begins with the first, and so CUPTI with the program.
WHOLE = {"TRACEAGENT_STEP_MARK": "nvtx:nothing", "TRACEAGENT_SCHEDULE": "wait=0", "TRACEAGENT_OUTPUT_FOLDER": "out"}
# By the kernel that runs there.
NAMES = {"on_ascii": "copies", "on_wide": "bäckwärts 🚀", "on_driver": "by driver", "on_resource": "by resource",
         "on_hostile": '"},{\\\n\t\x01��', "on_long": "n" * 107, "on_renamed": "new",
         "on_taken_away": None, "on_default": "the default", "on_per_thread": "each thread's own",
         "on_first": "first of two", "on_second": None}


def run(place, word, **more):
    bare = place.run([PROGRAM, word], variables_of())
    ended = place.run([PROGRAM, word], place.agent(**WHOLE, SIMGPU_TRUTH=place.path / "truth", **more))
    check((ended.code, ended.out, ended.own_err()) == (bare.code, bare.out, bare.own_err()),
          f"{word} {more}: {ended}, without the agent {bare}")
    check(place.left_in_memory() == [], f"{word}: left in memory: {place.left_in_memory()}")


def the_trace(place):
    (name,) = [name for name in place.files() if "rank0" in name]
    trace = place.trace(name)
    lanes = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"]
             if event["ph"] == "M" and event["name"] == "thread_name"}
    kernels = {event["name"]: event for event in trace["traceEvents"] if event.get("cat") == "kernel"}
    return trace, lanes, kernels


def was_recorded_whole(place):
    """On a busy machine CUPTI comes on when the program has begun."""
    return all(record["cupti"] != "off" for record in truth_of(place.path / "truth") if record["kind"] == "device")


def test_names(pause_ms=0):
    with Place() as place:
        run(place, "all", PAUSE_MS=pause_ms)
        if not was_recorded_whole(place) and pause_ms < 10000:
            return test_names(2 * pause_ms + 1000)
        trace, lanes, kernels = the_trace(place)
        true = {record["name"]: record for record in truth_of(place.path / "truth")
                if record["kind"] == "device" and record["work"] == "kernel"}
        for kernel, name in NAMES.items():
            stream = true[kernel]["cupti_stream"]
            expected = f'GPU 0 "left "GPU"" stream {stream}' + (f' "{name}"' if name else "")
            check(kernels[kernel]["args"]["stream"] == stream, f"{kernel}: {kernels[kernel]}")
            check(lanes[kernels[kernel]["tid"]] == expected,
                  f"{kernel}: {lanes[kernels[kernel]['tid']]!r} is not {expected!r}")
        names = trace["traceagent"]["names"]
        told = {row["stream"]: row["name"] for row in names["streams"] if "stream" in row}
        check(told == {true[kernel]["cupti_stream"]: name for kernel, name in NAMES.items() if name},
              f"the metadata: {names}")
        check([row for row in names["streams"] if "handle" in row] == [{"handle": "0xdead", "name": "nobody's"}],
              f"a stream that did nothing: {names}")
        check(names["devices"] == {"0": 'left "GPU"', "1": "right"}, f"devices: {names}")
        check(names["contexts"] == {"0xc0ffee": "a context"}, f"contexts: {names}")
        check(set(names["threads"].values()) == {"the main thread of it all", "a second thread"}, f"{names}")
        for thread, name in names["threads"].items():
            check(lanes[int(thread)] == f'thread {thread} "{name}"', f"thread {thread}: {lanes}")
        check(not trace["traceagent"]["dropped"], f"{trace['traceagent']['dropped']}")


def test_without_names(pause_ms=0):
    """The door shut: the lanes have their numbers."""
    with Place() as place:
        run(place, "all", TRACEAGENT_DOORS_NVTX="false", PAUSE_MS=pause_ms)
        if not was_recorded_whole(place) and pause_ms < 10000:
            return test_without_names(2 * pause_ms + 1000)
        trace, lanes, kernels = the_trace(place)
        check("names" not in trace["traceagent"], f"{trace['traceagent'].get('names')}")
        check(all(re.fullmatch(r"GPU 0 stream \d+", lanes[event["tid"]]) for event in kernels.values()), f"{lanes}")
    # A name is no call of the device: no agent, nothing left.
    with Place() as place:
        run(place, "names_only")
        check(place.files() == [], f"names alone left {place.files()}")


def main():
    need(LIBRARY, "the library")
    need(PROGRAM, "tests/programs/named_streams")
    test_names()
    test_without_names()
    return checks.end()


sys.exit(main())
