#!/usr/bin/env python3
"""PyTorch with the processes that it starts: the same standard output and error and exit code with the agent as
without, and a trace of every process that called CUDA. The calls go to the simulated libcudart, by ctypes.

usage: pytorch_test.py BUILD DEPS [--whole] [--states] [CASE...]      cases: see SHORT
"""

import pathlib
import re
import shutil
import sys
import tempfile

import contained
from host_run import SIMULATED_CUDART, bare_variables
from host_states import MORE, StatePlace, write_table
from places import ARGUMENTS, LIBRARY, VENV, need

# On a busy machine PyTorch's own waits run out; what fails each time is a difference.
TRIES = 2
PROGRAMS = pathlib.Path(__file__).resolve().parent / "pytorch"
PARTS = ["epochs", "calls", "left", "raise"]
# Case → command, and how many processes must have an agent, and a trace, at least: the main one, and of each part
# that calls CUDA in its workers, or start method, two; where one dies, the other may not come to it.
SHORT = {
    "data_loader_fork": (["data_loader.py", "fork", *PARTS], 1 + 2 + 2),
    "data_loader_fork_killed": (["data_loader.py", "fork", "kill"], 1 + 1),
    "data_loader_spawn": (["data_loader.py", "spawn", "calls"], 1 + 2),
    "spawn": (["spawn.py", "spawn"], 1 + 2),
    "compile": (["compile.py"], 1),
}
# Half a minute of g++: in the short form not compiled without the agent too, but held to this.
KNOWN = {"compile": "before [0, 0, 0, 0]\nequal True\ncompiled 1 1\nafter [0, 0, 0, 0]\n"}
# Whether a worker dies while another hands a tensor over, of which a thread of multiprocessing's then complains, is
# chance: 4 of 120 runs without the agent and 4 of 120 with it.
SPEECHLESS = {"data_loader_fork_killed", "data_loader_spawn_killed"}
WHOLE = SHORT | {
    "data_loader_spawn": (["data_loader.py", "spawn", *PARTS], 1 + 2 + 2),
    "data_loader_spawn_killed": (["data_loader.py", "spawn", "kill"], 1 + 1),
    "spawn": (["spawn.py", "spawn", "fork", "forkserver"], 1 + 3 * 2),
}


def variables_for(folder, variables):
    return variables | {"HOST_CUDART": str(SIMULATED_CUDART), "TMPDIR": str(folder),
                        "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}


def run(command, variables):
    with tempfile.TemporaryDirectory(prefix="traceagent-hosts-") as folder:
        inner = pathlib.Path(folder, "work")
        inner.mkdir()
        words = [VENV / "bin/python", PROGRAMS / command[0], *command[1:]]
        ended = contained.run(words, inner, variables_for(folder, variables), timeout_s=400)
        return ended, sorted(str(path.relative_to(inner)) for path in inner.rglob("*"))


def known_end(case):
    return contained.Ended(3, KNOWN[case], "", 0.0, 0), []


def said_on_error(ended):
    """Less our own lines; what is another number in every run, such as a pid, is one "N". In order of their text: the
    processes of a case write as they come to it."""
    return sorted(re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in ended.own_err())


def bare_end(case, command, is_whole):
    return known_end(case) if case in KNOWN and not is_whole else run(command, bare_variables())


def problems_of(case, state, bare_and_left, command, processes):
    bare, bare_left = bare_and_left
    with StatePlace("pytorch", state) as place:
        traced, left = run(command, place.variables())
        files, killed = len(place.rank_files()), place.killed()
        found = list(place.state_problems(traced, processes))
    print(f"{case}, {state}: {files} rank files, {killed} recovered; {bare.seconds:.1f} s bare, "
          f"{traced.seconds:.1f} s traced", flush=True)
    is_heard = case not in SPEECHLESS
    case = f"{case}, {state}"
    yield from (f"{case}: {problem}: {traced}" for problem in found)
    # torch.compile leaves its cache.
    bare_left, left = ([path for path in paths if "/" not in path] for paths in (bare_left, left))
    if (bare.code, bare.out, bare_left) != (traced.code, traced.out, left):
        yield f"{case}: bare {bare}, left {bare_left}; traced {traced}, left {left}"
    if is_heard and said_on_error(bare) != said_on_error(traced):
        yield f"{case}: standard error: bare {said_on_error(bare)}, traced {said_on_error(traced)}"
    if bare.code != 3:
        yield f"{case}: does not end well without the agent: {bare}"
    if traced.survivors > bare.survivors:
        yield f"{case}: {traced.survivors} processes left over, without the agent {bare.survivors}"
    if state == "active" and files < processes:
        yield f"{case}: {files} rank files, {processes} wanted"


def main():
    need(next(VENV.glob("lib/python3*/site-packages/torch"), "/none"), "PyTorch")
    need(LIBRARY, "the library")
    need(shutil.which("g++") or "/none", "g++")
    words = [word for word in ARGUMENTS if not word.startswith("--")]
    is_whole = "--whole" in ARGUMENTS
    cases = WHOLE if is_whole else SHORT
    states = MORE if {"--states", "--whole"} & set(ARGUMENTS) else ("active",)
    problems, rows = [], {}
    for case in words or cases:
        command, processes = cases[case]
        rows[case] = {}
        for state in states:
            for attempt in range(TRIES):
                if attempt or not rows[case]:
                    bare = bare_end(case, command, is_whole)
                rows[case]["absent"] = bare[0].code
                found = list(problems_of(case, state, bare, command, processes))
                if not found:
                    break
                print(f"{case}: try {attempt + 1}:", *found, sep="\n", flush=True)
            rows[case][state] = "differs" if found else "same"
            problems += found
    write_table("-".join(["pytorch", *words]), {f"pytorch {case}": row for case, row in rows.items()})
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
