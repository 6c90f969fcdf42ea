#!/usr/bin/env python3
"""Ranks that /proc does not show to be such, since they have set their variables themselves or written a title over them, and
their workers: they are of the run that they are of where it does."""
import sys

from jobs import PROGRAMS, Checks, Place, end_of
from places import need

checks = Checks()
check = checks.check
RANKS = 2
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")


def test_mode(mode):
    program = need(PROGRAMS / "titled_rank", "tests/programs")
    with Place() as place:
        running = []
        for rank, variables in enumerate(place.ranks(RANKS, TRACEAGENT_STEP_MARK="auto", TRACEAGENT_OUTPUT_FOLDER="out")):
            del variables["TRACEAGENT_RUN_NAME"]
            for name in RANK_VARIABLES if mode == "setenv" else ():
                del variables[name]
            running.append(place.start([program, mode, rank], variables))
        ended = [end_of(process) for process in running]
        check(all(each.code == 3 for each in ended), f"{mode}: {ended}")
        lines = [line for each in ended for line in each.lines() if "no step was found" not in line]
        check(len(lines) == 1 and f"out/node0.json: {RANKS} ranks, " in lines[0], f"{mode}: {lines}")
        files = [name for name in place.files() if "/ep" in name]
        check(len(files) == 3 * RANKS, f"{mode}: a rank and two workers each: {files}")
        about = place.trace("out/node0.json")["traceagent"]["merged"]
        pids = {each["identity"]["pid"] for each in about}
        check({process.pid for process in running} <= pids, f"{mode}: the ranks' own: {pids}")
        check(len({each["identity"]["run_key"] for each in about}) == 1, f"{mode}: {about}")
        names = {each["identity"]["run_name"] for each in about}
        check(len(names) == 1 and names.pop().startswith("titled_rank-"), f"{mode}: one name, the program's: {about}")
        check(place.left_in_memory() == [], f"{mode}: {place.left_in_memory()}")


def test_pod():
    """What starts the ranks has a RANK itself, that of its pod among pods: it is their launcher all the same."""
    with Place() as place:
        ranks = " ".join(f"RANK={rank} LOCAL_RANK={rank} WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 {PROGRAMS}/titled_rank plain {rank} &"
                         for rank in range(RANKS))
        pod = place.start(["sh", "-c", f"{ranks} wait"], place.agent(
            RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=29500, TRACEAGENT_STEP_MARK="auto",
            TRACEAGENT_OUTPUT_FOLDER="out"))
        ended = end_of(pod)
        check(ended.code == 0, f"pod: {ended}")
        key = place.trace("out/node0.json")["traceagent"]["merged"][0]["identity"]["run_key"]
        check(key.startswith(f"127.0.0.1-29500-launcher-{pod.pid}."), f"pod: {key}")


for each in ("plain", "setenv", "title"):
    test_mode(each)
test_pod()
sys.exit(checks.end())
