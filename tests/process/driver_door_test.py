#!/usr/bin/env python3
"""Whoever reaches the driver by cuGetProcAddress, by dlsym or by linking gets the same answers with
the agent, and each call is one event: a program's own, NCCL's inside NCCL's, none inside libcudart's.

usage: driver_door_test.py BUILD DEPS
"""
import pathlib
import re
import sys
import tempfile

from jobs import PROGRAMS, Checks, Place, variables_of
from places import BUILD, LIBRARY, need
from truth import Truth

checks = Checks()
check = checks.check
INJECTION = PROGRAMS / "libusers_injection.so"
CLIENT, LINKED = PROGRAMS / "driver_client", PROGRAMS / "driver_linked"
# The first call begins the one window, which holds them all. Without CUPTI, which tells of calls that
# came through no door.
ALL = {"TRACEAGENT_DOORS_CUPTI": "false",
       "TRACEAGENT_STEP_MARK": "call:cuMemAlloc", "TRACEAGENT_SCHEDULE": "warmup=0,active=1000,repeat=1",
       "TRACEAGENT_OUTPUT_FOLDER": "out"}
COPY_KINDS = ["HtoH", "HtoD", "DtoH", "DtoD", "default"]
NOT_RECORDED = {"cuInit", "cuModuleGetFunction", "cuGetProcAddress", "cuGetProcAddress_v2"}


def hooked():
    names = (BUILD / "generated/exports.txt").read_text().split()
    return {name for name in names if re.match(r"cu[A-Z]", name)} - NOT_RECORDED


def shown(function):
    return re.sub(r"(_v\d)?(_pt[sd][sz])?$", "", function)


class Traced:
    """A program with the agent; its trace, the truth, and whether it said the same without it."""

    def __init__(self, command, **more):
        with Place() as place:
            own = {key: value for key, value in more.items() if not key.startswith("TRACEAGENT_")}
            self.bare = place.run(command, variables_of(**own, SIMGPU_TRUTH=place.path / "bare.truth"))
            more.setdefault("SIMGPU_TRUTH", place.path / "traced.truth")
            self.result = place.run(command, place.agent(**ALL | more))
            self.command = f"{command}"
            check((self.result.code, self.result.out, self.result.own_err())
                  == (self.bare.code, self.bare.out, self.bare.own_err()),
                  f"{command} {more}: {self.result}, without the agent {self.bare}")
            check(place.left_in_memory() == [], f"{command}: left in memory: {place.left_in_memory()}")
            self.files = place.files()
            truth = place.path / "traced.truth"
            self.truth = Truth([truth]).records if truth.exists() else []
            self.rank_files = [name for name in self.files if "rank0" in name]
            self.trace = place.trace(self.rank_files[0]) if self.rank_files else {"traceEvents": []}

    def events(self, *categories):
        return sorted((e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] in categories),
                      key=lambda e: (e["ts"], -e["dur"]))

    def driver_calls(self, kind="call"):
        names = hooked()
        return sorted((r for r in self.truth if r["kind"] == kind and r["library"] == "cuda"
                       and r["function"] in names), key=lambda r: r["begin_ns"])


def arguments_of(event):
    args = event["args"]
    row = {key: args[key] for key in ("result", "grid", "block", "kernel", "kind", "bytes") if key in args}
    if "stream" in args:
        row["stream"] = int(args["stream"], 16)
    return row


def compare(run, word):
    """Every call once, in order, with what both sides know of its arguments."""
    events, calls = run.events("cuda_driver"), run.driver_calls()
    check([e["name"] for e in events] == [shown(c["function"]) for c in calls],
          f"{word}: {[e['name'] for e in events]}, truth {[c['function'] for c in calls]}")
    for event, call in zip(events, calls):
        # Of what it refused, the simulator keeps not all; a driver's copy may not say its direction.
        known = {"result": call["result"], "stream": call["stream"], "bytes": call["bytes"],
                 "grid": call.get("grid"), "block": call.get("block"), "kernel": call.get("name")}
        for key, value in arguments_of(event).items():
            if key != "kind":
                check(known[key] == value or call["result"] != 0, f"{word}: {key} {value}: {event}, was {call}")
        if event["args"].get("kind") not in (None, "default"):
            check(COPY_KINDS[call["copy_kind"]] == event["args"]["kind"], f"{word}: {event}, was {call}")
    print(f"{word}: {len(calls)} calls")
    return calls


def test_ways():
    for word in ("first", "second", "default", "per_thread", "symbols"):
        calls = compare(Traced([CLIENT, word]), word)
        check(len(calls) == 39, f"{word}: {len(calls)} calls")
        variants = {c["function"].rpartition("_")[2] for c in calls} & {"ptsz", "ptds"}
        check(variants == ({"ptsz", "ptds"} if word == "per_thread" else set()), f"{word}: {variants}")
    calls = compare(Traced([LINKED]), "linked")
    check([c["function"] for c in calls] == ["cuMemAlloc_v2", "cuLaunchKernel", "cuLaunchKernel", "cuMemsetD8_v2",
                                             "cuCtxSynchronize", "cuMemFree_v2"], f"linked: {calls}")


def test_what_is_not_known():
    run = Traced([CLIENT, "future"])
    made = [r["function"] for r in run.truth if r["kind"] == "call" and r["library"] == "cuda"]
    check("cuLaunchKernel_v3" in made and "cuMemFree_v3" in made, f"future: {made}")
    # The ABI of cuMemsetD8 is the one of CUDA 12, whatever version was asked for.
    names = [e["name"] for e in run.events("cuda_driver")]
    check(names == ["cuMemAlloc", "cuMemsetD8"], f"future: {names}")
    for word in ("unknown", "same_address"):
        check(Traced([CLIENT, word]).events("cuda_driver") == [], word)


def test_shut_doors():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("doors: {driver: false}\n")
        file.flush()
        for command in ([CLIENT, "second"], [LINKED]):
            run = Traced(command, TRACEAGENT_CONFIG=file.name)
            check(run.events("cuda_driver") == [], f"shut in a file: {command}: {run.files}")
    for way in ({"TRACEAGENT_DOORS_DRIVER": "false"}, {"TRACEAGENT_ENABLED": "false"}):
        for command in ([CLIENT, "second"], [CLIENT, "symbols"], [LINKED]):
            run = Traced(command, **way)
            check(run.events("cuda_driver", "cuda_runtime") == [], f"{way} {command}: {run.files}")
    # Without dlsym's nobody comes here but who was linked.
    check(Traced([CLIENT, "second"], TRACEAGENT_DOORS_DLSYM="false").events("cuda_driver") == [], "dlsym shut")
    # libcudart's door shut: its launches are seen where they reach the driver.
    run = Traced([PROGRAMS / "all_calls"], TRACEAGENT_DOORS_CUDART="false",
                 TRACEAGENT_STEP_MARK="auto", TRACEAGENT_SCHEDULE="repeat=1")
    launches = run.driver_calls("inner")
    seen = [e["name"] for e in run.events("cuda_driver")]
    check(seen == [shown(c["function"]) for c in launches] and seen, f"cudart shut: {seen}, {len(launches)}")
    check(run.events("cuda_runtime") == [], "cudart shut")


def test_inside_other_calls():
    """Launches inside libcudart are part of its calls; inside NCCL they are events within its."""
    for program in ("all_calls", "all_calls_per_thread"):
        run = Traced([PROGRAMS / program], TRACEAGENT_STEP_MARK="auto", TRACEAGENT_SCHEDULE="repeat=1")
        calls = {r["number"]: r for r in run.truth if r["kind"] == "call"}
        inner = [(calls[r["inside"]], r) for r in run.driver_calls("inner")]
        of_nccl = [r for outer, r in inner if outer["library"] == "nccl"]
        of_cudart = [r for outer, r in inner if outer["library"] == "cudart"]
        events = run.events("cuda_driver")
        check([e["name"] for e in events] == [shown(r["function"]) for r in of_nccl],
              f"{program}: {[e['name'] for e in events]}, in NCCL {len(of_nccl)}")
        check(len(of_nccl) > 5 and len(of_cudart) > 4, f"{program}: {len(of_nccl)}, {len(of_cudart)}")
        nccl = run.events("nccl")
        for event, record in zip(events, of_nccl):
            around = [e for e in nccl if e["tid"] == event["tid"] and e["ts"] <= event["ts"]
                      and event["ts"] + event["dur"] <= e["ts"] + e["dur"]]
            outer = calls[record["inside"]]["function"]
            names = [e["name"] for e in around]
            # A broadcast is a bcast's inner call, a send is launched by its group's end.
            check(len(around) == 1 and (names == [outer] or names[0] == "ncclGroupEnd"),
                  f"{program}: {event} inside {names}, was {outer}")
            check(event["args"]["grid"] == record["grid"], f"{program}: {event}, was {record}")
        print(f"{program}: {len(of_nccl)} launches in NCCL, {len(of_cudart)} in libcudart")


def test_injection():
    run = Traced([CLIENT, "init"])
    check(run.files == [],
          f"who only initialises leaves nothing: {run.files}")
    # Nobody came through a door: the driver itself names the process to us.
    run = Traced([CLIENT, "init"], TRACEAGENT_DOORS_DLSYM="false")
    check(run.files != [], f"started in cuInit: {run.files} {run.result}")
    run = Traced([CLIENT, "init_by_symbol"])
    check(run.files == [], f"nor who finds cuInit by itself: {run.files}")
    # A child that shed the preload and kept the variables: the driver loads us late, and that is all.
    with Place() as place:
        kept = {"CUDA_INJECTION64_PATH": LIBRARY, "NVTX_INJECTION64_PATH": LIBRARY,
                "NCCL_PROFILER_PLUGIN": "STATIC_PLUGIN"}
        shed = {key: value for key, value in place.agent(**ALL, **kept).items() if key != "LD_PRELOAD"}
        for command in ([CLIENT, "second"], [LINKED], [PROGRAMS / "all_calls"]):
            bare, late = place.run(command, variables_of()), place.run(command, shed)
            check((late.code, late.out, late.err) == (bare.code, bare.out, bare.err),
                  f"loaded late: {command}: {late}, without the agent {bare}")
        check(place.files() == [] and place.left_in_memory() == [],
              f"loaded late: {place.files()} {place.left_in_memory()}")
    # A second copy of the library behind the first: one trace.
    with Place() as place:
        copy = place.rings.parent / f"{place.rings.name}-copy.so"
        try:
            copy.write_bytes(pathlib.Path(LIBRARY).read_bytes())
            place.run([LINKED], place.agent(**ALL, LD_PRELOAD=f"{LIBRARY}:{copy}"))
        finally:
            copy.unlink()
        names = [name for name in place.files() if "rank" in name]
        check(len(names) == 1, f"a copy of the library: {place.files()}")
    with Place() as place:
        theirs = place.run([CLIENT, "init"], place.agent(**ALL, CUDA_INJECTION64_PATH="/none/theirs.so"))
        check(theirs.out.split()[-1] == "theirs" and theirs.code == 3, f"the user's own tool: {theirs}")


def test_init_again():
    """CUPTI is on since the first call, in a context that was there: the driver would not come back."""
    run = Traced([CLIENT, "init_again"], TRACEAGENT_DOORS_CUPTI="true")
    check(run.result.code == 3, f"{run.result}")
    source = run.trace["traceagent"]["device"]["source"]
    check(source == "cupti", f"device times from {source}: this test shows nothing")
    Traced([CLIENT, "init_in_child"], TRACEAGENT_DOORS_CUPTI="true")
    for enabled in ("true", "false"):
        run = Traced([CLIENT, "local_stub"], TRACEAGENT_ENABLED=enabled)
        check(run.result.out.split() == ["0", "0"], f"a plugin's own cuInit: {run.result}")


def test_users_injection():
    """With the dlsym door shut the driver finds us where the user's own tool is named: both are called."""
    shut = {"TRACEAGENT_DOORS_DLSYM": "false", "CUDA_INJECTION64_PATH": INJECTION}
    shed = ["env", "-u", "LD_PRELOAD", CLIENT, "symbols"]
    # A process, the child of another, one that shed the preload, and one that has a tool of its own.
    for command in ([CLIENT, "symbols"], ["sh", "-c", f"{CLIENT} symbols; exit $?"], shed,
                    ["sh", "-c", f"CUDA_INJECTION64_PATH={INJECTION} {CLIENT} symbols; exit $?"]):
        run = Traced(command, **shut)
        check(run.result.out.count("the user's own tool\n") == 1, f"{command}: {run.result}")
        check(bool(run.rank_files) == (command != shed), f"{command}: {run.files}")
    # Taken back, it is not called; what leads nowhere is left to the driver, and what the loader does not find is said.
    run = Traced(["sh", "-c", f"unset CUDA_INJECTION64_PATH; {CLIENT} symbols; exit $?"], **shut)
    check("own tool" not in run.result.out, f"taken back: {run.result}")
    for path in ("/none/theirs.so", "none_theirs.so", PROGRAMS / "libinterposer.so", ""):
        run = Traced([CLIENT, "symbols"], **shut | {"CUDA_INJECTION64_PATH": path})
        check(bool(run.rank_files) != str(path).startswith("/none"), f"{path}: {run.files}")
        is_said = "traceagent: CUDA_INJECTION64_PATH: none_theirs.so: cannot be opened" in run.result.err
        check(is_said == (path == "none_theirs.so"), f"{path}: {run.result}")


def test_recorded_from_injection():
    """No call comes through a door, and still what the device does is recorded."""
    # CUPTI comes on beside the program, which does not wait for it.
    for pause_ms in (300, 2000, 8000):
        run = Traced([CLIENT, "pause_after_init"], TRACEAGENT_DOORS_DLSYM="false",
                     TRACEAGENT_DOORS_CUPTI="true", PAUSE_MS=pause_ms)
        kernels = run.events("kernel")
        true = [r for r in run.truth if r["kind"] == "device" and r["work"] == "kernel"]
        if len(kernels) == len(true):
            break
    check([e["name"] for e in kernels] == [r["name"] for r in true] and true, f"{kernels}, were {true}")
    check(all(e["args"]["seen by"] == "CUPTI" for e in run.events("cuda_driver")), "no door saw a call")


def main():
    need(LIBRARY, "the library")
    need(CLIENT, "tests/programs/driver_client")
    test_ways()
    test_what_is_not_known()
    test_shut_doors()
    test_inside_other_calls()
    test_injection()
    test_init_again()
    test_users_injection()
    test_recorded_from_injection()
    return checks.end()


sys.exit(main())
