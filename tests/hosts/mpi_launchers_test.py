#!/usr/bin/env python3
"""Ranks under Open MPI's and MPICH's own launchers, with programs that use those libraries: the same
output and exit code with the agent as without, and each rank's calls under the rank that MPI gave it.

usage: mpi_launchers_test.py BUILD DEPS [LAUNCHER...]      launchers: see LAUNCHERS
"""

import json
import pathlib
import shutil
import sys
import tempfile

import contained
from host_run import SIMULATED_CUDART, bare_variables
from host_states import MORE, StatePlace, write_table
from places import ARGUMENTS, BUILD, LIBRARY, need

RANKS = 4
PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/mpi_ranks.py"
RUN = BUILD / "bin/traceagent-run"
# mpirun refuses root otherwise, and containers are root.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Launcher → its words, its library, and whether the preload goes in by the wrapper within or around
# the launcher itself, which hands its own environment on.
OPEN_MPI, MPICH = "libmpi.so.40", "libmpich.so.12"
LAUNCHERS = {
    "open_mpi": (["mpirun.openmpi", "--oversubscribe", "-n", RANKS], OPEN_MPI, "within"),
    "open_mpi_preloaded": (["mpirun.openmpi", "--oversubscribe", "-n", RANKS], OPEN_MPI, "around"),
    "hydra": (["mpiexec.hydra", "-n", RANKS], MPICH, "within"),
    "hydra_preloaded": (["mpiexec.hydra", "-n", RANKS], MPICH, "around"),
}


def run(words, variables):
    with tempfile.TemporaryDirectory(prefix="traceagent-hosts-") as folder:
        inner = pathlib.Path(folder, "work")
        inner.mkdir()
        # Launchers keep sockets in TMPDIR.
        ended = contained.run(words, inner, variables | AS_ROOT | {"TMPDIR": folder}, timeout_s=90)
        return ended, sorted(str(path) for path in inner.rglob("*"))


def shape(ended):
    return ended.code, sorted(ended.out.splitlines()), sorted(ended.own_err())


def problems_of(name, rows):
    launcher, library, _ = LAUNCHERS[name]
    if shutil.which(launcher[0]) is None:
        print(f"{name}: {launcher[0]} is not here and is left out: run packaging/setup --tests")
        return
    program = [sys.executable, PROGRAM, library, SIMULATED_CUDART]
    bare = run([*launcher, *program], bare_variables())
    if len(bare[0].out.splitlines()) != RANKS or bare[0].code != 0:
        yield f"{name}: without the agent: {bare}"
    rows[name] = {"absent": bare[0].code}
    for state in MORE:
        found = list(state_problems(name, state, program, *bare))
        rows[name][state] = "differs" if found else "same"
        yield from found


def state_problems(name, state, program, bare, bare_left):
    launcher, _, where = LAUNCHERS[name]
    with StatePlace("mpi", state) as place:
        variables = place.variables(PYTHONDONTWRITEBYTECODE="1")
        if where == "within":
            del variables["LD_PRELOAD"]
            program = [RUN, *program]
        traced, left = run([*launcher, *program], variables)
        problems = list(place.state_problems(traced, RANKS))
        if state == "active" and not problems:
            problems = list(trace_problems(place))
    name = f"{name}, {state}"
    print(f"{name}: {bare.seconds:.1f} s bare, {traced.seconds:.1f} s traced: {traced.agent_lines()}", flush=True)
    if (shape(bare), bare_left) != (shape(traced), left):
        yield f"{name}: bare {shape(bare)}, {bare_left}; traced {shape(traced)}, {left}"
    results = [line for line in traced.agent_lines() if " lost" in line]
    if state == "active" and (len(results) != 1 or f": {RANKS} ranks, " not in results[0] or ", 0 lost" not in results[0]):
        yield f"{name}: one result from one node wanted: {traced.agent_lines()}"
    yield from (f"{name}: {problem}" for problem in problems)


def trace_problems(place):
    node = json.loads(next(place.traces.glob("*/node0.json")).read_text())
    sizes = {}
    for event in node["traceEvents"]:
        if event["ph"] == "X" and event["name"] == "cudaMemset":
            sizes.setdefault(event["pid"], []).append(event["args"]["bytes"])
    if sizes != {rank: [1000 + rank] * 3 for rank in range(RANKS)}:
        yield f"calls by rank: {sizes}"


def main():
    need(LIBRARY, "the library")
    rows = {}
    problems = [problem for name in ARGUMENTS or LAUNCHERS for problem in problems_of(name, rows)]
    write_table("mpi_launchers", rows)
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
