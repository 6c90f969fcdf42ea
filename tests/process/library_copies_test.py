#!/usr/bin/env python3
"""Two copies of one library in one process: who calls the second is left alone, and the trace says so. That it works as without
the agent is shown by the transparency suite (copies_of_a_library)."""
import sys

from jobs import TRACEAGENT, Checks, Place
from places import BUILD, need

checks = Checks()
check = checks.check
LIBRARIES = BUILD / "transparency/libraries"


def extension(name):
    return need(LIBRARIES / f"lib{name}.so", "transparency_programs")


def test(first, second, calls):
    program = need(BUILD / "transparency/copies_of_a_library", "transparency_programs")
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=100")
        ended = place.run([program, extension(first), extension(second)], variables)
        check(ended.code == 3, f"{first}, {second}: {ended}")
        trace = place.trace("out/node0.json")
        names = [event["name"] for event in trace["traceEvents"] if event.get("ph") == "X"]
        # Each of the two calls 3 and then 2 times.
        check(names.count(calls) == 5, f"{first}, {second}: those of the first are there, {names.count(calls)}")
        report = place.run([TRACEAGENT, "check", "out/node0.json"])
        lines = [line for line in report.lines() + ended.lines() + report.out.splitlines() if "lib" + second in line]
        check(any("calls a second copy of a library that is wrapped already" in line for line in lines),
              f"{first}, {second}: {lines}, {report}")


test("user_of_12", "user_of_renamed", "cudaMemsetAsync")
test("kernel_of_12", "kernel_of_renamed", "cudaMemsetAsync")
test("user_of_nccl", "user_of_its_own_nccl", "ncclGetUniqueId")
sys.exit(checks.end())
