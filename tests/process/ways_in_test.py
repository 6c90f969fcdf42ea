#!/usr/bin/env python3
"""Every way in which a program can reach libcudart, on the simulated and on the real one: it gets
the same answers with the agent, and what can be seen is seen once.

usage: ways_in_test.py BUILD DEPS LIBCUDART
"""
import pathlib
import sys

from jobs import PROGRAMS, STEADY, Checks, Place, variables_of
from places import ARGUMENTS, BUILD, LIBRARY, need

checks = Checks()
check = checks.check
WAYS_IN = PROGRAMS / "ways_in"
THREE = ["cudaMalloc", "cudaDeviceSynchronize", "cudaFree"]
ALL = {"TRACEAGENT_STEP_MARK": "call:cudaMalloc", "TRACEAGENT_SCHEDULE": "warmup=0,active=1000,repeat=1",
       "TRACEAGENT_OUTPUT_FOLDER": "out"}
SEEN = {"dlsym": THREE, "dlsym_lazy": THREE, "dlvsym": THREE, "default": THREE, "reopened": THREE,
        "nobody": THREE, "old_hash": [],
        # The caller asks for what lies behind itself, and gets it: that may be past us.
        "next": None, "deepbind": None, "not_there": [], "same_address": []}


def both(command, libraries, before="", after="", **more):
    """The program with and without the agent; its calls in the trace."""
    with Place() as place:
        more["LD_LIBRARY_PATH"] = f"{libraries}:{PROGRAMS}"
        others = ":".join(word for word in (before, after) if word)
        bare = place.run(command, variables_of(**more, **({"LD_PRELOAD": others} if others else {})))
        preload = ":".join(str(word) for word in (before, LIBRARY, after) if word)
        traced = place.run(command, place.agent(**ALL | more, LD_PRELOAD=preload))
        check((traced.code, traced.out, traced.own_err()) == (bare.code, bare.out, bare.own_err()),
              f"{command} {before} {after}: {traced}, without the agent {bare}")
        check(place.left_in_memory() == [], f"{command}: left in memory: {place.left_in_memory()}")
        names = [name for name in place.files() if "rank0" in name]
        if not names:
            return traced, []
        events = place.trace(names[0])["traceEvents"]
        calls = [event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver", "nccl")]
        return traced, [(call["name"], call["args"]["result"]) for call in calls]


def said(result):
    pairs = [line.split() for line in result.out.splitlines()]
    return [(pair[0], int(pair[1])) for pair in pairs if len(pair) == 2 and pair[0].startswith("cuda")]


def test_ways(libraries):
    for word, functions in SEEN.items():
        result, seen = both([WAYS_IN, word], libraries)
        check(result.code == 3, f"{word}: {result}")
        if functions is not None:
            check([name for name, _ in seen] == functions, f"{word}: seen {seen}")
            check(seen == said(result), f"{word}: seen {seen}, printed {said(result)}")
        print(f"{word}: {seen}")


def test_interposers():
    libraries = f"{BUILD}/sim/lib"
    interposer = str(PROGRAMS / "libinterposer.so")
    for position in ("before", "after"):
        result, seen = both([STEADY, 2, 3], libraries, **{position: interposer})
        check(result.out.count("interposed\n") == 1, f"{position}: {result}")
        check([name for name, _ in seen].count("cudaMalloc") == 1, f"{position}: {seen}")


def test_interposers_that_ask_the_library():
    """What they looked up is not what our wrappers of the program's calls go on to: that is they."""
    libraries, tool = f"{BUILD}/sim/lib", str(PROGRAMS / "libhandle_interposer.so")
    # Each asks for both of its functions before the program calls the second.
    programs = {"cudaMalloc": [STEADY, 2, 3], "cuMemAlloc": [PROGRAMS / "driver_linked"]}
    for function, program in programs.items():
        for position in ("before", "after"):
            for is_lazy in ({}, {"INTERPOSER_IS_LAZY": "1"}):
                result, seen = both(program, libraries, **{position: tool}, **is_lazy,
                                    TRACEAGENT_STEP_MARK=f"call:{function}")
                where = f"{function}, {position}, {is_lazy}"
                check(result.out.count("interposed\n") == 2, f"{where}: {result}")
                check([name for name, _ in seen].count(function) == 1, f"{where}: {seen}")


def test_other_dlsym():
    """A tool that wraps dlsym itself is asked as it would be without us, wherever it stands."""
    libraries, tool = f"{BUILD}/sim/lib", str(PROGRAMS / "libdlsym_interposer.so")
    # In front of us it goes straight to glibc's.
    for position, functions in (("before", []), ("after", THREE[:2])):
        result, seen = both([WAYS_IN, "dlsym"], libraries, **{position: tool})
        check(result.code == 3 and "the tool's cudaFree\n" in result.out, f"dlsym {position}: {result}")
        check([name for name, _ in seen] == functions, f"dlsym {position}: {seen}")


def test_extension():
    """A library that NEEDs libcudart and is opened RTLD_LOCAL, as Python extensions are."""
    source = f"import ctypes; ctypes.CDLL({str(PROGRAMS / 'libcalls_around.so')!r}).calls_around()"
    result, seen = both([sys.executable, "-c", source], f"{BUILD}/sim/lib")
    # Its destructor's cudaFree comes after our exit hook.
    check([name for name, _ in seen][:2] == ["cudaMalloc", "cudaMemset"], f"extension: {seen} {result}")


def main():
    need(LIBRARY, "the library")
    need(WAYS_IN, "tests/programs/ways_in")
    test_ways(f"{BUILD}/sim/lib")
    for library in ARGUMENTS:
        test_ways(str(pathlib.Path(library).parent))
    test_interposers()
    test_interposers_that_ask_the_library()
    test_other_dlsym()
    test_extension()
    return checks.end()


sys.exit(main())
