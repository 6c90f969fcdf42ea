#!/usr/bin/env python3
"""What a job says at its end where cycles are missing: the cause, once, and what helps."""
import re
import subprocess
import sys

from jobs import Checks, Place, TRACEAGENT
from places import BUILD

LIBRARIES = f"{BUILD}/sim/lib:{BUILD}/sim/cupti"
checks = Checks()
check = checks.check


def demo(place, steps, **options):
    ended = place.run([BUILD / "bin/train_demo", "--steps", steps, "--print-every", 100000],
                      place.agent(**{"LD_LIBRARY_PATH": LIBRARIES, **options}))
    check(ended.code == 0, f"the job: {ended}")
    return ended


def test_slices_that_pass_in_the_start():
    """Where the machine is fast enough there is a trace."""
    options = {"TRACEAGENT_STEP_MARK": "every:1ms", "TRACEAGENT_SCHEDULE": "warmup=1,active=4,repeat=1"}
    with Place() as place:
        ended = demo(place, 3000, **options)
        check(all("the program ended at step" not in line for line in ended.lines()), f"skip_first is 0: {ended}")
        told = [line for line in ended.lines() if "of the schedule" in line]
        print(ended.lines())
        if (place.path / "job/traces/node0.json").exists():
            return
        others = [line for line in ended.lines() if line not in told]
        check(others == [] and len(told) == 1
              and told[0].startswith("traceagent: no trace: rank 0: 1 cycle of the schedule was lost: step.mark: every:1ms: ")
              and "raise schedule.skip_first" in told[0], f"{ended}")


def recovered(place):
    """Lines of the recovery, and the page of each rank file."""
    run = next(place.rings.glob("*/*"))
    done = subprocess.run([TRACEAGENT, "recover", run], capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, f"{done}")
    files = sorted((place.path / "job/traces").glob("r0*.json"))
    return [(path, subprocess.run([TRACEAGENT, "check", path], capture_output=True, text=True, timeout=60).stdout)
            for path in files]


def test_cycles_of_one_name():
    with Place() as place:
        ended = demo(place, 60, TRACEAGENT_OUTPUT_FILENAME="r{rank}.json", TRACEAGENT_STEP_MARK="auto",
                     TRACEAGENT_SCHEDULE="wait=2,warmup=2,active=3,repeat=3")
        lines = ended.lines()
        print(*lines, sep="\n")
        check(sum("its cycles would write the same" in line for line in lines) == 1, f"at the start: {lines}")
        end = next((line for line in lines if "node0.json: " in line), "")
        check(re.search(r", 0 lost; 2 cycles wait in memory: traceagent recover /\S+", end), f"at the end: {lines}")
        pages = recovered(place)
        check(len(pages) == 3, f"{pages}")
        for path, page in pages:
            check("died" not in page and "yes  losses                none" in page, f"{path}: {page}")
        check(sum("yes  recovered " in page for _, page in pages) == 2, f"{pages}")


def test_mark_behind_a_shut_door():
    """Nobody hears what makes the steps: it is said at the start, and none is made up."""
    for mark, door in (("call:ncclAllReduce:3", "doors.nccl"), ("nvtx:step", "doors.nvtx"),
                       ("call:cuLaunchKernel", "doors.driver")):
        with Place() as place:
            ended = demo(place, 20, TRACEAGENT_STEP_MARK=mark, TRACEAGENT_SCHEDULE="warmup=0,active=2",
                         **{"TRACEAGENT_" + door.upper().replace(".", "_"): "false"})
            lines = ended.lines()
            check(f"traceagent: step.mark: {mark}: {door} is false: no step will be found" in lines, f"{ended}")
            check(any("no step was found" in line for line in lines), f"{ended}")


def test_misspelt_mark():
    with Place() as place:
        ended = demo(place, 20, TRACEAGENT_STEP_MARK="call:ncclAlReduce:3", TRACEAGENT_SCHEDULE="warmup=0,active=2")
        check("traceagent: step.mark: call:ncclAlReduce:3: no function of that name is traced, the nearest is "
              "ncclAllReduce: no step will be found" in ended.lines(), f"{ended}")


test_misspelt_mark()
test_mark_behind_a_shut_door()
test_slices_that_pass_in_the_start()
test_cycles_of_one_name()
sys.exit(checks.end())
