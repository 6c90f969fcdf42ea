#!/usr/bin/env python3
"""How processes begin, fork and end: the program is the same, each process's calls are in a file of
its own, and nothing is left where nothing was called."""
import sys
import time

from jobs import (PROGRAMS, TIMEOUT, TRACEAGENT, Checks, Place, bare_run, calls_in, end_of, steps_in)
from places import LIBRARY, SANITIZED, need

checks = Checks()
check = checks.check
LIFE = PROGRAMS / "process_life"
CALLS, CHILD_CALLS = 7, 3
# Every call is recorded, from the first synchronization on; a forked child's, which has none, too.
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=1000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out"}
ENDS = ["return", "exit", "quick_exit", "_exit", "_Exit", "exit_in_handler", "main_leaves"]
DEATHS = {"throw": -6, "abort": -6, "sigterm": -15, "sigkill": -9}


def same_as_bare(place, command, result, what):
    bare = bare_run(command)
    check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
          f"{what}: {result}, without the agent {bare}")


def run(place, word, **more):
    command = [LIFE, word]
    result = place.run(command, place.agent(**{**ALL, **more}))
    same_as_bare(place, command, result, word)
    return result


def rank_files(place):
    return [name for name in place.files() if "rank" in name]


def counts(place, names):
    return sorted(len(calls_in(place.trace(name))) for name in names)


def clean(place, what):
    check(place.left_in_memory() == [], f"{what}: left in memory: {place.left_in_memory()}")


def recovered(place, what):
    variables = place.agent(**ALL)
    del variables["LD_PRELOAD"]
    result = place.run([TRACEAGENT, "recover"], variables)
    check(result.code == 0, f"{what}: recover: {result}")
    clean(place, what)


def test_ends():
    for word in ENDS:
        with Place() as place:
            result = run(place, word)
            check(counts(place, rank_files(place)) == [CALLS], f"{word}: {place.files()} {result}")
            check("out/node0.json" in place.files() and len(result.lines()) == 1, f"{word}: {result.lines()}")
            clean(place, word)


def test_deaths():
    for word, code in DEATHS.items():
        with Place() as place:
            result = run(place, word)
            check(result.code == code and place.files() == [], f"{word}: {result} {place.files()}")
            recovered(place, word)
            check(counts(place, rank_files(place)) == [CALLS], f"{word}: recovered {place.files()}")


def test_exit_in_thread():
    with Place() as place:
        run(place, "exit_in_thread")
        found = counts(place, rank_files(place))
        check(len(found) == 1 and found[0] >= CALLS, f"exit in a thread: {found}")
        clean(place, "exit in a thread")


def test_nothing():
    for command in ([LIFE, "nothing"], ["/bin/sh", "-c", "/bin/true; exit 3"],
                    [sys.executable, "-c", "import threading; print(threading.active_count())"]):
        with Place() as place:
            result = place.run(command, place.agent(**ALL))
            same_as_bare(place, command, result, command)
            check(result.lines() == [] and place.files() == [], f"{command}: {result} {place.files()}")
            clean(place, command)


def test_no_thread():
    source = "import os; print(len(os.listdir('/proc/self/task')), sorted(os.listdir('/proc/self/fd')))"
    with Place() as place:
        command = [sys.executable, "-c", source]
        same_as_bare(place, command, place.run(command, place.agent(**ALL)), "threads and descriptors")


def test_forks():
    expected = {"fork_silent": [CALLS + 1], "fork_calls": [CHILD_CALLS, CALLS + 1]}
    for word, wanted in expected.items():
        with Place() as place:
            result = run(place, word)
            names = rank_files(place)
            check(counts(place, names) == wanted, f"{word}: {counts(place, names)} in {names} {result}")
            check(sum("-pid" in name for name in names) == len(wanted) - 1, f"{word}: {names}")
            node = place.trace("out/node0.json")
            check(len(calls_in(node)) == sum(wanted), f"{word}: {len(calls_in(node))} in the node file")
            check(len({event["pid"] for event in calls_in(node)}) == len(wanted), f"{word}: processes")
            check(len(result.lines()) == 1, f"{word}: {result.lines()}")
            clean(place, word)


def test_fork_while_recording():
    with Place() as place:
        result = run(place, "fork_busy")
        names = [name for name in rank_files(place) if "-pid" in name]
        check(counts(place, names) == [CHILD_CALLS] * 20, f"children: {counts(place, names)} {result}")
        clean(place, "fork while recording")


def test_vfork_and_exec():
    with Place() as place:
        run(place, "vfork_exec")
        check(counts(place, rank_files(place)) == [CALLS + 1], f"vfork: {place.files()}")
        clean(place, "vfork")
    with Place() as place:
        # What it was before the exec died with its calls unwritten: found in memory by what it became.
        result = run(place, "exec_itself")
        check(counts(place, rank_files(place)) == [CALLS, CALLS], f"exec itself: {place.files()} {result}")
        clean(place, "exec itself")
    with Place() as place:
        run(place, "exec_other")
        check(place.files() == [], f"exec of another: {place.files()}")
        recovered(place, "exec of another")
        check(counts(place, rank_files(place)) == [CALLS], f"exec of another: {place.files()}")


def test_closed_descriptors():
    with Place() as place:
        run(place, "closes_all")
        check(counts(place, rank_files(place)) == [CALLS], f"closes all: {place.files()}")
        clean(place, "closes all")
    with Place() as place:
        # A daemon that begins to call after its parent's end is a run of its own: its own folder.
        run(place, "daemon", TRACEAGENT_RUN_NAME="", TRACEAGENT_OUTPUT_FOLDER="{run_name}")
        deadline = time.monotonic() + TIMEOUT
        while (len(rank_files(place)) < 2 or place.left_in_memory()) and time.monotonic() < deadline:
            time.sleep(0.05)
        check(counts(place, rank_files(place)) == [2 * CHILD_CALLS, CALLS], f"daemon: {place.files()}")
        clean(place, "daemon")


def test_around():
    with Place() as place:
        command = [PROGRAMS / "around_main"]
        result = place.run(command, place.agent(**ALL))
        same_as_bare(place, command, result, "calls around main")
        check("destructor 0" in result.out, f"calls around main: {result}")
        names = rank_files(place)
        # The call of a destructor that runs after our exit hook is not recorded, but goes through.
        check(len(names) == 1 and counts(place, names)[0] in (3, 4), f"calls around main: {counts(place, names)}")
        clean(place, "calls around main")


PYTHON = r"""
import ctypes, multiprocessing, os, sys
cudart = ctypes.CDLL("libcudart.so.13")
def call(count):
    for _ in range(count):
        cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
    return count
if __name__ == "__main__":
    cudart.cudaDeviceSynchronize()
    call(6)
    mode = sys.argv[1]
    if mode in ("fork", "spawn"):
        context = multiprocessing.get_context(mode)
        children = [context.Process(target=call, args=(3,)) for _ in range(2)]
        for child in children: child.start()
        for child in children: child.join()
        print([child.exitcode for child in children])
    elif mode == "pool":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(call, [3, 3]))
    elif mode == "os._exit":
        sys.stdout.flush(); os._exit(9)
    elif mode == "sys.exit":
        sys.exit(9)
    elif mode == "raise":
        raise SystemError("not caught")
"""


def test_python():
    expected = {"return": [CALLS], "os._exit": [CALLS], "sys.exit": [CALLS], "raise": [CALLS],
                "fork": [3, 3, CALLS], "spawn": [3, 3, CALLS]}
    for mode, wanted in expected.items():
        with Place() as place:
            script = place.path / "job.py"
            script.write_text(PYTHON)
            command = [sys.executable, script, mode]
            result = place.run(command, place.agent(**ALL))
            same_as_bare(place, command, result, f"Python {mode}")
            found = counts(place, rank_files(place))
            check(found == wanted, f"Python {mode}: {found} in {place.files()} {result.lines()}")
            node = place.trace("out/node0.json") if "out/node0.json" in place.files() else {"traceEvents": []}
            check(len(calls_in(node)) == sum(wanted), f"Python {mode}: node file {len(calls_in(node))}")
            clean(place, f"Python {mode}")


def test_python_pool():
    """A pool's workers are killed by their parent: their calls are recovered, the job is the same."""
    with Place() as place:
        script = place.path / "job.py"
        script.write_text(PYTHON)
        command = [sys.executable, script, "pool"]
        same_as_bare(place, command, place.run(command, place.agent(**ALL)), "Python pool")
        node = place.trace("out/node0.json") if "out/node0.json" in place.files() else {"traceEvents": []}
        check(len(calls_in(node)) == CALLS + 6, f"Python pool: {len(calls_in(node))} of {CALLS + 6}")
        clean(place, "Python pool")


def main():
    need(LIBRARY, "the library")
    need(LIFE, "tests/programs/process_life")
    wanted = sys.argv[3:]
    for name, test in list(globals().items()):
        if SANITIZED and name.startswith("test_python"):
            continue
        if name.startswith("test_") and (not wanted or name in wanted):
            started = time.monotonic()
            test()
            print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    return checks.end()


sys.exit(main())
