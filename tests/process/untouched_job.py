"""What holds for a job whatever is wrong around it: it runs as without the agent, one clear line says
what is wrong and what to do, and what can be right in the output is right."""

import os
import shlex
import subprocess
import sys
import time

from jobs import STEADY, Checks, bare_run, calls_in, steps_in
from places import ARGUMENTS, LIBRARY, need

COMMAND = [STEADY, 20, 10]
checks = Checks()
check = checks.check


def same_as(bare, result, what):
    check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
          f"{what}: the job is not the same: {result}, without the agent {bare}")


def is_result(line):
    return " lost" in line and " events, " in line


def one_line(result, what, *words):
    lines = [line for line in result.lines() if not is_result(line)]
    good = len(lines) == 1 and all(str(word).lower() in lines[0].lower() for word in words)
    check(good, f"{what}: wants one line with {words}: {result.lines()}")


def whole(place, name, steps=(3, 4, 5, 6), what=""):
    if not check((place.path / name).exists(), f"{what}: {name} is missing: {place.files()}"):
        return None
    trace = place.trace(name)
    check(trace.get("complete") is True, f"{what}: {name} is not complete")
    check(tuple(steps_in(trace)) == tuple(steps), f"{what}: {name} has steps {steps_in(trace)}")
    return trace


def four_ranks_in_node_file(place, name, what, ranks=(0, 1, 2, 3)):
    if not check((place.path / name).exists(), f"{what}: no {name}: {place.files()}"):
        return None
    trace = place.trace(name)
    found = sorted({event["pid"] for event in calls_in(trace)})
    check(found == sorted(ranks), f"{what}: the node file has {found}")
    return trace


def clean(place, what):
    check(place.left_in_memory() == [], f"{what}: left in memory: {place.left_in_memory()}")


def can_unshare():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0


def in_mounts(mounts, command):
    """The command in a mount namespace of its own, with more mounts (lists of mount's words)."""
    script = "".join(shlex.join(["mount", *map(str, mount)]) + " && " for mount in mounts)
    return ["unshare", "-m", "sh", "-c", script + shlex.join(map(str, command))]


def ranks_in_shell(command, count):
    """A shell that runs `count` ranks and ends with the code of the last that failed."""
    each = " & pids=\"$pids $!\"; ".join(
        f"RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={count} LOCAL_WORLD_SIZE={count} GROUP_RANK=0 "
        + shlex.join(map(str, command)) for rank in range(count))
    return ["sh", "-c", each + " & pids=\"$pids $!\"; code=0; for p in $pids; do wait $p || code=$?; done; exit $code"]


def run_cases(plain, need_mounts=()):
    """Each case is called with the job's end without the agent; arguments name the wanted ones."""
    need(LIBRARY, "the library")
    need(STEADY, "tests/programs/steady")
    bare = bare_run(COMMAND)
    check(bare.code == 3 and bare.out.endswith("free 0\n"), f"without the agent: {bare}")
    for case in [*plain, *(need_mounts if can_unshare() else [])]:
        if not ARGUMENTS or case.__name__ in ARGUMENTS:
            started = time.monotonic()
            case(bare)
            print(f"{case.__name__}: {time.monotonic() - started:.1f} s", flush=True)
    sys.exit(checks.end())
