#!/usr/bin/env python3
"""Option `keeper`: ranks that are all killed leave the node's file, made by a process that is no child
of theirs and that ends with its work."""
import os
import pathlib
import signal
import sys

from jobs import LIBRARY, PROGRAMS, Checks, Place, bare_run, calls_in, end_of, processes_naming, wait_until, wait_until_said

checks = Checks()
check = checks.check
LIFE, STEADY, INTERPOSER = PROGRAMS / "process_life", PROGRAMS / "steady", PROGRAMS / "libinterposer.so"
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=100000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
       "TRACEAGENT_KEEPER": "true"}


def keepers(place):
    return processes_naming(place.rings)


def end_keepers(place):
    for pid in keepers(place):
        os.kill(pid, signal.SIGKILL)


def test_all_ranks_killed():
    count = 4
    with Place() as place:
        ranks = [place.start([STEADY, 100_000, 10, 1000], variables)
                 for variables in place.ranks(count, **ALL)]
        check(all([wait_until_said(rank, "step 10") for rank in ranks]), "all have recorded")
        running = keepers(place)
        check(len(running) == 1, f"one keeper of {count} ranks: {running}")
        for pid in running:  # a scheduler tells all that it finds
            os.kill(pid, signal.SIGTERM)
        for rank in ranks:
            rank.kill()
        # Their output is at its end at once: the keeper holds none of it.
        ends = [end_of(rank) for rank in ranks]
        check([end.code for end in ends] == [-9] * count, f"ranks: {ends}")
        check(wait_until(lambda: not keepers(place)), f"the keeper ends: {keepers(place)}")
        end_keepers(place)
        files = place.files()
        check(sum("-rank" in name for name in files) == count and "out/node0.json" in files, f"files: {files}")
        if "out/node0.json" in files:
            found = {event["pid"] for event in calls_in(place.trace("out/node0.json"))}
            check(found == set(range(count)), f"ranks in the node file: {found}")
        log = place.path / "out/keeper-node0.log"
        said = log.read_text() if log.exists() else ""
        check(said.count("recovered") == count and "out/node0.json: 4 ranks" in said, f"the log: {said!r}")
        check(place.left_in_memory() == [], f"in memory: {place.left_in_memory()}")


def test_a_good_end():
    with Place() as place:
        command = [LIFE, "no_children"]
        result, bare = place.run(command, place.agent(**ALL)), bare_run(command)
        check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
              f"a good end: {result}, without the agent {bare}")
        check(wait_until(lambda: not keepers(place)), f"a good end: {keepers(place)}")
        end_keepers(place)
        check(not any("keeper" in name for name in place.files()), f"a good end: {place.files()}")


def test_is_there_before_cuda():
    """What CUDA makes, and whom it forks from, is not the keeper's."""
    with Place() as place:
        variables = place.agent(**ALL | {"INTERPOSER_STOPS": "1", "LD_PRELOAD": f"{LIBRARY} {INTERPOSER}"})
        job = place.start([STEADY, 3, 4, 0], variables)
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        check(os.WIFSTOPPED(status), f"the job stops in its first call, before CUDA has it: {status}")
        check(len(keepers(place)) == 1, f"a keeper by then: {keepers(place)}")
        maps = (pathlib.Path("/proc") / str(keepers(place)[0]) / "maps").read_text() if keepers(place) else ""
        check("libcud" not in maps, "it has nothing of CUDA's")
        os.kill(job.pid, signal.SIGCONT)
        end = end_of(job)
        check(end.code == 3 and "malloc 0" in end.out, f"and it goes on: {end}")
        check(wait_until(lambda: not keepers(place)), f"the keeper ends: {keepers(place)}")


def test_not_asked_for():
    with Place() as place:
        job = place.start([STEADY, 100_000, 10, 1000], place.agent(**ALL | {"TRACEAGENT_KEEPER": "false"}))
        job.stdout.readline()
        check(keepers(place) == [], f"not asked for: {keepers(place)}")
        job.kill()
        end_of(job)


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
sys.exit(checks.end())
