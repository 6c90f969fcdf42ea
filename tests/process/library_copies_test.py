#!/usr/bin/env python3
"""Two copies of one library in one process: the calls of both are in the trace. That each goes to its own is shown by the
transparency suite (copies_of_a_library)."""
import sys

from jobs import Checks, Place
from places import BUILD, need

checks = Checks()
check = checks.check
LIBRARIES = BUILD / "transparency/libraries"


def test_copy_for_all():
    """One that comes into the global scope later, and is looked up: each function that was asked for is seen."""
    program = need(BUILD / "transparency/copies_of_a_library", "transparency_programs")
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=100")
        ended = place.run([program, LIBRARIES / "libkernel_of_renamed.so", "global:libcudart.so.12",
                           LIBRARIES / "libsoft_user_of_12.so"], variables)
        check(ended.code == 3, f"a copy for all: {ended}")
        names = [event["name"] for event in place.trace("out/node0.json")["traceEvents"] if event.get("ph") == "X"]
        for call, calls in (("cudaDeviceSynchronize", 4), ("cudaMemsetAsync", 10)):
            check(names.count(call) == calls, f"a copy for all: {names.count(call)} of {calls} {call}")


def test(first, second, call):
    program = need(BUILD / "transparency/copies_of_a_library", "transparency_programs")
    extensions = [need(LIBRARIES / f"lib{name}.so", "transparency_programs") for name in (first, second)]
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=100")
        ended = place.run([program, *extensions], variables)
        check(ended.code == 3, f"{first}, {second}: {ended}")
        names = [event["name"] for event in place.trace("out/node0.json")["traceEvents"] if event.get("ph") == "X"]
        check(names.count(call) == 10, f"{first}, {second}: each calls 3 times and then 2, {names.count(call)}")


for pair in (("kernel_of_12", "kernel_of_renamed"), ("user_of_nccl", "user_of_other_nccl")):
    for one, other in (pair, pair[::-1]):
        test(one, other, "cudaMemsetAsync" if "12" in pair[0] else "ncclGetUniqueId")
test_copy_for_all()
sys.exit(checks.end())
