#!/usr/bin/env python3
"""A scheduler's way to end a job: SIGTERM to every rank, SIGKILL to what is still there, then the container and its
/dev/shm are gone. What signals and keeper bring to the output folder before that is all that there is. And a job whose
rings are taken from under it while it runs."""
import os
import shutil
import signal
import sys
import time

from jobs import (PROGRAMS, SLOWDOWN, TRACEAGENT, Checks, Place, bare_run, calls_in, end_of, processes_naming, variables_of,
                  wait_until_said)

checks = Checks()
check = checks.check
STEADY = PROGRAMS / "steady"
RANKS, CALLS_PER_STEP = 4, 11
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=100000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out"}
GRACE_S = 5 * SLOWDOWN


def end_as_scheduler(place, ranks, grace_s=GRACE_S):
    """To the ranks and to whatever else of theirs is there, as to all of a control group."""
    others = processes_naming(place.rings)
    for pid in [*(rank.pid for rank in ranks), *others]:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and (any(rank.poll() is None for rank in ranks) or processes_naming(place.rings)):
        time.sleep(0.02)
    for rank in ranks:
        rank.kill()
    for pid in processes_naming(place.rings):
        os.kill(pid, signal.SIGKILL)
    ends = [end_of(rank) for rank in ranks]
    shutil.rmtree(place.rings)
    place.rings.mkdir()
    return ends


def job(place, **more):
    ranks = [place.start([STEADY, 100_000, CALLS_PER_STEP - 1, 1000], variables)
             for variables in place.ranks(RANKS, **ALL, **more)]
    check(all([wait_until_said(rank, "step 10") for rank in ranks]), "all have recorded")
    return ranks


def check_node_file(place, what):
    files = place.files()
    if not check("out/node0.json" in files, f"{what}: {files}"):
        return
    calls = calls_in(place.trace("out/node0.json"))
    found = {rank: sum(event["pid"] == rank for event in calls) for rank in range(RANKS)}
    # Ten steps were told, each of which begins with the last one's end.
    check(all(count >= 9 * CALLS_PER_STEP for count in found.values()), f"{what}: calls of each rank: {found}")


def test_signals():
    with Place() as place:
        ends = end_as_scheduler(place, job(place, TRACEAGENT_SIGNALS="TERM"))
        check([end.code for end in ends] == [-15] * RANKS, f"signals: {ends}")
        check_node_file(place, "signals")


def test_keeper():
    with Place() as place:
        ends = end_as_scheduler(place, job(place, TRACEAGENT_KEEPER="true"))
        check([end.code for end in ends] == [-15] * RANKS, f"keeper: {ends}")
        check_node_file(place, "keeper")


def test_lives_on():
    """A job that ignores SIGTERM is struck by SIGKILL, and its keeper with it: the windows that it has finished are whole, and
    can be merged; of the one that it was in nothing is left anywhere."""
    for option in ({"TRACEAGENT_SIGNALS": "TERM"}, {"TRACEAGENT_KEEPER": "true"}):
        with Place() as place:
            windows = ALL | {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=5,repeat=100000"} | option
            ranks = [place.start(["sh", "-c", 'trap "" TERM; exec "$@"', "sh", STEADY, 100_000, CALLS_PER_STEP - 1, 1000], variables)
                     for variables in place.ranks(RANKS, **windows)]
            check(all([wait_until_said(rank, "step 40") for rank in ranks]), f"{option}: all have recorded")
            ends = end_as_scheduler(place, ranks, grace_s=1)
            check([end.code for end in ends] == [-9] * RANKS, f"{option}: {ends}")
            files = [name for name in place.files() if "rank" in name and name.endswith(".json") and "/." not in name]
            for rank in range(RANKS):
                own = [name for name in files if f"rank{rank}." in name]
                calls = [len(calls_in(place.trace(name))) for name in own]
                check(len(own) >= 4 and all(count >= 4 * CALLS_PER_STEP for count in calls), f"{option}: rank {rank}: {own}, {calls}")
            merged = place.run([TRACEAGENT, "merge", "out", "-o", "all.json"], variables_of())
            found = len(calls_in(place.trace("all.json"))) if "all.json" in place.files() else 0
            total = sum(len(calls_in(place.trace(name))) for name in files)
            check(found == total, f"{option}: {found} calls are merged of {total}: {merged}")


def test_neither():
    """Else the others would show nothing."""
    with Place() as place:
        end_as_scheduler(place, job(place))
        check(not any(name.endswith(".json") for name in place.files()), f"neither: {place.files()}")


def test_rings_gone_while_it_runs():
    with Place() as place:
        steps = 300
        command = [STEADY, steps, CALLS_PER_STEP - 1, 1000]
        rank = place.start(command, place.agent(**ALL))
        check(wait_until_said(rank, "step 10"), "gone while it runs: it has recorded")
        shutil.rmtree(place.rings)
        place.rings.mkdir()
        end, bare = end_of(rank), bare_run(command)
        check((end.code, end.own_err()) == (bare.code, bare.own_err()) and bare.out.endswith(end.out[-100:]),
              f"gone while it runs: {end.code} {end.err} {end.out[-100:]!r}")
        names = [name for name in place.files() if "rank" in name]
        check(len(names) == 1, f"gone while it runs: {place.files()}, {end.lines()}")
        for name in names:
            count = len(calls_in(place.trace(name)))
            check(count >= (steps - 1) * CALLS_PER_STEP, f"gone while it runs: {count} calls")
        check(not [line for line in end.lines() if " 0 events" in line], f"gone while it runs: {end.lines()}")


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
sys.exit(checks.end())
