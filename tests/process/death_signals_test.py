#!/usr/bin/env python3
"""Option `signals`: a job that a scheduler ends writes its files first, and ends as it would have;
a job that handles or ignores the signal itself is left to it."""
import signal
import sys
import time

from jobs import PROGRAMS, SLOWDOWN, TRACEAGENT, Checks, Place, bare_run, calls_in, end_of, variables_of, wait_until_said
from places import SANITIZED

checks = Checks()
check = checks.check
LIFE, STEADY = PROGRAMS / "process_life", PROGRAMS / "steady"
CALLS, CHILD_CALLS = 7, 3
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=100000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
       "TRACEAGENT_SIGNALS": "TERM,INT,HUP"}


def counts(place):
    names = [name for name in place.files() if "rank" in name]
    return sorted(len(calls_in(place.trace(name))) for name in names)


def test_raised():
    """By the thread that records, in the middle of everything."""
    for word, code in {"sigterm": -15, "sigint": -2, "sighup": -1}.items():
        with Place() as place:
            command = [LIFE, word]
            result, bare = place.run(command, place.agent(**ALL)), bare_run(command)
            check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()) and
                  bare.code == code, f"{word}: {result}, without the agent {bare}")
            check(counts(place) == [CALLS] and "out/node0.json" in place.files(), f"{word}: {place.files()}")
            check(len(result.lines()) == 1 and place.left_in_memory() == [], f"{word}: {result.lines()}")


def test_not_asked_for():
    with Place() as place:
        result = place.run([LIFE, "sighup"], place.agent(**ALL | {"TRACEAGENT_SIGNALS": "TERM"}))
        check(result.code == -1 and place.files() == [], f"not asked for: {result} {place.files()}")


def test_the_jobs_own():
    """Handled before and after the agent's start, ignored, and in a child that inherits nothing."""
    for word in ("own_handler", "later_handler", "ignored", "child_default"):
        with Place() as place:
            command = [LIFE, word]
            result, bare = place.run(command, place.agent(**ALL)), bare_run(command)
            check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
                  f"{word}: {result}, without the agent {bare}")
            check(max(counts(place), default=0) >= CALLS, f"{word}: {place.files()}")


def test_ranks_of_a_job():
    """All ranks are told to end, as a scheduler does: one node file, all of them in it."""
    count = 4
    with Place() as place:
        ranks = [place.start([STEADY, 100_000, 10, 1000], variables)
                 for variables in place.ranks(count, **ALL)]
        check(all([wait_until_said(rank, "step 10") for rank in ranks]), "ranks: all have recorded")
        for rank in ranks:
            rank.send_signal(signal.SIGTERM)
        ends = [end_of(rank) for rank in ranks]
        check([end.code for end in ends] == [-15] * count, f"ranks: {ends}")
        files = place.files()
        check(sum("rank" in name for name in files) == count and "out/node0.json" in files, f"ranks: {files}")
        if "out/node0.json" in files:
            found = {event["pid"] for event in calls_in(place.trace("out/node0.json"))}
            check(found == set(range(count)), f"ranks in the node file: {found}")
        check(place.left_in_memory() == [], f"ranks: {place.left_in_memory()}")


def test_one_rank_alone():
    """The others go on: it ends soon, with its own events in the node's file, and says nothing of any that wait."""
    with Place() as place:
        ranks = [place.start([STEADY, 100_000, 10, 1000], variables) for variables in place.ranks(2, **ALL)]
        check(all([wait_until_said(rank, "step 10") for rank in ranks]), "one alone: all have recorded")
        begin = time.monotonic()
        ranks[0].send_signal(signal.SIGTERM)
        end = end_of(ranks[0])
        took_s = time.monotonic() - begin
        check(end.code == -15 and took_s < 2.5 + 2 * SLOWDOWN, f"one alone: {took_s} s, {end}")
        check("memory" not in end.err and "out/node0.json" in place.files(), f"one alone: {end}, {place.files()}")
        ranks[1].send_signal(signal.SIGTERM)
        check(end_of(ranks[1]).code == -15 and place.left_in_memory() == [], f"one alone: {place.left_in_memory()}")
        found = {event["pid"] for event in calls_in(place.trace("out/node0.json"))}
        check(found == {0, 1}, f"one alone: ranks in the node file: {found}")


# Gets the signal on an alternate stack of that many bytes, below which nothing may be touched.
ON_A_STACK = """
import ctypes, mmap, os, signal, sys, time
libc = ctypes.CDLL(None)
size = int(sys.argv[1])
memory = mmap.mmap(-1, 1 << 20)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(1 << 19), 0)
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
libc.sigaltstack(ctypes.byref(Stack(base + (1 << 19), 0, size)), None)
for _ in range(5):
    ctypes.CDLL("libcudart.so.13").cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""


def test_small_stack():
    """A line takes some KiB: where they are not there nothing is said."""
    if SANITIZED:  # ctypes' calls are not seen in such a build
        return
    for size in (4096, 8192, 65536):
        with Place() as place:
            (place.path / "job.py").write_text(ON_A_STACK)
            result = place.run([sys.executable, "job.py", size], place.agent(**ALL, TRACEAGENT_EXIT_TIMEOUT="0s"))
            check(result.code == -15, f"a stack of {size}: {result}")
            is_said = any("exit.timeout" in line for line in result.lines())
            check(is_said or size < 65536, f"a stack of {size}: {result}")


def test_held_lock():
    """The thread that gets the signal allocates all the time: whoever needs that lock does not get
    it. The end comes within exit.timeout, and nothing is lost in any run: all calls are in a file, or
    in a ring to recover."""
    for run in range(5):
        with Place() as place:
            job = place.start([LIFE, "allocates"], place.agent(**ALL, MALLOC_ARENA_MAX=1, TRACEAGENT_EXIT_TIMEOUT="1s"))
            job.stdout.readline()
            time.sleep(0.05)
            job.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            end = end_of(job)
            took_s = time.monotonic() - begin
            check(end.code == -15, f"held lock, run {run}: {end}")
            # exit.timeout, and what a busy machine takes; without the bound it would never end.
            check(took_s < 1 + 10 * SLOWDOWN, f"held lock, run {run}: its end took {took_s} s")
            rings = [name for name in place.left_in_memory() if name.endswith(".ring")]
            check(rings or counts(place) == [CALLS], f"held lock, run {run}: {place.files()} and no ring")
            if rings:
                recovered = place.run([TRACEAGENT, "recover"], variables_of(TRACEAGENT_RING_FOLDER=place.rings))
                check(recovered.code == 0 and counts(place) == [CALLS] and place.left_in_memory() == [],
                      f"held lock, run {run}: {counts(place)} calls, {recovered}: {place.files()}, {place.left_in_memory()}")


def test_bad_name():
    with Place() as place:
        result = place.run([LIFE, "return"], place.agent(**ALL | {"TRACEAGENT_SIGNALS": "TREM"}))
        check(any("TRACEAGENT_SIGNALS" in line and "the nearest is TERM" in line for line in result.lines()),
              f"bad name: {result.lines()}")


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
sys.exit(checks.end())
