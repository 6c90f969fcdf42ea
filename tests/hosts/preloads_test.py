#!/usr/bin/env python3
"""Other libraries that are preloaded, before us and after us: allocators, sanitizers' runtimes and
interposers. The program does the same with the agent as without, and the trace holds every call.

usage: preloads_test.py BUILD DEPS [NAME...]      names: see ../transparency/preloaded.py
"""

import collections
import json
import pathlib
import shutil
import sys
import tempfile

import contained
from host_run import TracedPlace, bare_variables
from places import ARGUMENTS, BUILD, LIBRARY, need

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "transparency"))

from preloaded import OTHERS

STEPS, CALLS, THREADS = 10, 20, 4
PROGRAM = [BUILD / "programs/steady", STEPS, CALLS, 0, THREADS]
# What the schedule records: all but the step that is warmed up.
# Threads that end at once each take a chunk of the ring: it must hold them all.
RECORDED = {"TRACEAGENT_RING_SIZE": "16MiB", "TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize",
            "TRACEAGENT_SCHEDULE": f"wait=0,warmup=1,active={STEPS - 3},repeat=1"}


def run(variables, words=()):
    with tempfile.TemporaryDirectory(prefix="traceagent-hosts-") as folder:
        variables = variables | {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti"}
        ended = contained.run([*words, *PROGRAM], folder, variables, timeout_s=60)
        return ended, sorted(str(path) for path in pathlib.Path(folder).rglob("*"))


def calls_of(place):
    node = json.loads(next(place.traces.glob("*/node0.json")).read_text())
    return collections.Counter(event["name"] for event in node["traceEvents"]
                               if event["ph"] == "X" and event["cat"] == "cuda_runtime")


WANTED = {"cudaMemsetAsync": (STEPS - 3) * CALLS * THREADS, "cudaDeviceSynchronize": STEPS - 3}


def compare(name, bare_end, variables_of, words=()):
    bare, bare_left = bare_end
    with TracedPlace("preloads") as place:
        traced, left = run(variables_of(place), words)
        problems = list(place.problems(wants_traces=True))
        calls = {} if problems else calls_of(place)
    if (bare.code, bare.out, bare.own_err(), bare_left) != (traced.code, traced.out, traced.own_err(), left):
        yield f"{name}: bare {bare}; traced {traced}"
    yield from (f"{name}: {problem}: {traced}" for problem in problems)
    if not problems and {call: calls[call] for call in WANTED} != WANTED:
        yield f"{name}: {WANTED} wanted, {calls} in the trace"


def problems_of(name):
    other = OTHERS[name]
    path = other.path(BUILD)
    if path is None:
        print(f"{name}: {other.library} is not here and is left out: run packaging/setup --tests")
        return
    bare = run(bare_variables(LD_PRELOAD=path, **other.variables))
    if bare[0].code != 3:
        yield f"{name}: does not end well without the agent: {bare[0]}"
        return
    for where, preload, more in (("before us", f"{path}:{LIBRARY}", {}),
                                 ("after us", f"{LIBRARY} {path}", other.after_us)):
        def variables(place):
            return place.variables(**{**other.variables, **more, **RECORDED, "LD_PRELOAD": preload})
        found = list(compare(f"{name} {where}", bare, variables))
        print(f"{name} {where}: {len(found)} problems", flush=True)
        yield from found


def problems_with_wrapper(program, *words):
    """A launcher that adds its own library to LD_PRELOAD, as fakeroot and stdbuf do."""
    if shutil.which(program) is None:
        print(f"{program}: not here and left out: run packaging/setup --tests")
        return
    bare = run(bare_variables(), [program, *words])
    found = list(compare(program, bare, lambda place: place.variables(**RECORDED), [program, *words]))
    print(f"under {program}: {len(found)} problems", flush=True)
    yield from found


WINDOW_OF_EACH_STEP = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize", "TRACEAGENT_BUDGET_OVERHEAD": "0",
                       "TRACEAGENT_DOORS_CUPTI": "false", "TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1,repeat=0"}


def problems_of_forks():
    """The program forks while one of our threads holds a lock that no child gets back: of the loader's, in its
    list of objects, or of a malloc's that cares for no fork. No child may hang. (CUDA's and CUPTI's own calls of
    malloc are not looked after: CUDA has threads that call it whatever we do.)"""
    programs = BUILD / "programs"
    yield from problems_of_forking(f"{LIBRARY} {programs}/libslow_loader_walk.so", {"TRACEAGENT_STEP_MARK": "auto"})
    malloc = f"{programs}/libunforkable_malloc.so {LIBRARY}"
    yield from problems_of_forking(malloc, WINDOW_OF_EACH_STEP)
    # A fork that waits is no point at which a thread may be cancelled.
    yield from problems_of_forking(malloc, WINDOW_OF_EACH_STEP, "cancelled_forks")


def problems_of_forking(preloaded, options, program="forks_and_loads"):
    with TracedPlace("preloads") as place, tempfile.TemporaryDirectory() as folder:
        variables = place.variables(**options, LD_PRELOAD=preloaded,
                                    LD_LIBRARY_PATH=f"{BUILD}/sim/lib:{BUILD}/sim/cupti")
        ended = contained.run([BUILD / "programs" / program], folder, variables, timeout_s=60)
        problems = list(place.problems(wants_traces=True))
    print(f"{program}: {ended.out.strip()}", flush=True)
    if (ended.code, ended.out) != (3, "30 of 30 children\n"):
        yield f"{program}: {ended}"
    yield from problems


def main():
    need(LIBRARY, "the library")
    need(PROGRAM[0], "tests/programs/steady")
    problems = [problem for name in ARGUMENTS or OTHERS for problem in problems_of(name)]
    if not ARGUMENTS:
        problems += problems_of_forks()
        problems += problems_with_wrapper("fakeroot", "--")
        problems += problems_with_wrapper("stdbuf", "-o0")
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
