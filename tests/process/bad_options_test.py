#!/usr/bin/env python3
"""Options and schedules that cannot be, and a process without CUDA."""
import sys

from jobs import Place
from untouched_job import COMMAND, check, clean, one_line, run_cases, same_as, whole


def with_config(place, text):
    (place.path / "ta.yaml").write_text(text)
    return place.agent(TRACEAGENT_CONFIG="ta.yaml", TRACEAGENT_OUTPUT_FOLDER="out")


def bad_options(bare):
    cases = {
        "broken YAML": ("output: {gzip: [\n", {}, ["ta.yaml"]),
        "unknown key": ("ring: {sise: 1MiB}\n", {}, ["ta.yaml", "ring.sise", "ring.size"]),
        "unknown variable": ("{}\n", {"TRACEAGENT_RING_SISE": "1"}, ["TRACEAGENT_RING_SISE", "TRACEAGENT_RING_SIZE"]),
        "bad value": ("ring: {size: twelve}\n", {}, ["ta.yaml", "ring.size", "twelve", "64MiB"]),
        "bad choice": ("ring: {full: explode}\n", {}, ["ring.full", "explode", "drop"]),
        "too small": ("ring: {size: 1KiB}\n", {}, ["ring.size", "1KiB"]),
        "missing file": (None, {"TRACEAGENT_CONFIG": "/no/such.yaml"}, ["/no/such.yaml"]),
        "a folder as file": (None, {"TRACEAGENT_CONFIG": "/"}, [" /"]),
    }
    for what, (text, more, words) in cases.items():
        with Place() as place:
            result = place.run(COMMAND, with_config(place, text or "{}\n") | more)
            same_as(bare, result, what)
            one_line(result, what, *words)
            whole(place, "out/ep0-ba7-rank0.json", what=what)
            clean(place, what)


def impossible_schedule(bare):
    for schedule in ("active=0", "active=-3", "warmup=many", "nonsense"):
        with Place() as place:
            variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE=schedule)
            result = place.run(COMMAND, variables)
            same_as(bare, result, schedule)
            one_line(result, f"schedule {schedule}", schedule.split("=")[-1], "SCHEDULE")
            # The default: one step of warm-up, four active ones.
            whole(place, "out/ep0-ba5-rank0.json", (1, 2, 3, 4), f"schedule {schedule}")


def too_long_schedule(bare):
    with Place() as place:
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out",
                                                TRACEAGENT_SCHEDULE="skip_first=1000,active=1"))
        same_as(bare, result, "schedule beyond the end")
        one_line(result, "schedule beyond the end", "no trace", "skip_first")
        check(place.files() == [], f"schedule beyond the end: {place.files()}")
        clean(place, "schedule beyond the end")


def no_cudart(bare):
    source = r"""
import ctypes
process = ctypes.CDLL(None)
for name in ("cudaMalloc", "ncclGetVersion"):
    try:
        function = getattr(process, name)
    except AttributeError:
        print(name, "absent")
    else:
        pointer = ctypes.c_void_p()
        print(name, function(ctypes.byref(pointer), ctypes.c_size_t(64)))
"""
    with Place() as place:
        result = place.run([sys.executable, "-c", source], place.agent())
        check(result.code == 0 and result.own_err() == [], f"no cudart: {result}")
        # The wrapper is found where nothing was (a known gap): it must answer as the API would.
        answers = dict(line.split() for line in result.out.splitlines())
        check(answers.get("cudaMalloc") in ("absent", "302"), f"no cudart: {answers}")
        check(answers.get("ncclGetVersion") in ("absent", "3"), f"no NCCL: {answers}")
        check(place.files() == [] and result.lines() == [], f"no cudart: {place.files()} {result.lines()}")
        clean(place, "no cudart")


run_cases([bad_options, impossible_schedule, too_long_schedule, no_cudart])
