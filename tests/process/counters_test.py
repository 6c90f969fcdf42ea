#!/usr/bin/env python3
"""Counters beside the events: what a window's samples say is what the program says of itself, and what the
simulated NVML answered.

    counters_test.py BUILD DEPS truth|short|ranks|killed|off|descriptors|room|gpus|gpus_slow|gpu_dear_start|
        gpu_unseen|gpu_errors|gpu_hangs
"""

import contextlib
import os
import pathlib
import re
import signal
import sys
import time

from counter_samples import begin_s_of, counters_of, facts, rank_trace, total, window_s
from jobs import PROGRAMS, STEADY, TIMEOUT, TRACEAGENT, Checks, Place, end_of, wait_until, wait_until_said
from places import ARGUMENTS, BUILD

COUNTED = PROGRAMS / "counted"
MIB = 1 << 20
ON = {"TRACEAGENT_COUNTERS_SOURCES": "process,node", "TRACEAGENT_COUNTERS_INTERVAL": "50ms",
      "TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=4,repeat=1"}
# Since all of a test's window is one, whatever the machine's speed.
LONG = {**ON, "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=100000,repeat=1"}
PROCESS = {"process CPU %", "process memory bytes", "process major page faults/s", "process context switches/s",
           "process threads"}
NODE = {"node CPU %", "node memory bytes"}

checks = Checks()
check = checks.check


def with_gpus(**script):
    words = " ".join(f"{key}={value}" for key, value in script.items())
    return {**ON, "TRACEAGENT_COUNTERS_SOURCES": "process, node,gpu", "SIMGPU_NVML": words,
            "LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti:{BUILD}/sim/nvml"}


def check_valid(place, trace):
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    check(all(a["ts"] <= b["ts"] for a, b in zip(events, events[1:])), "events are not in order of time")
    for event in events:
        if event["ph"] == "C":
            check(event["args"] and all(isinstance(value, (int, float)) and value >= 0
                                        for value in event["args"].values()), f"{event}")
    node = next(name for name in place.files() if name.endswith("node0.json"))
    done = place.run([TRACEAGENT, "check", place.path / node], {**os.environ})
    check(done.code == 0, f"traceagent check: {done}")


def test_truth():
    with Place() as place:
        done = place.run([COUNTED, 600, 200, 32 * MIB, 200], place.agent(**ON))
        check(done.code == 0, f"{done}")
        said = {name: int(value) for name, value in re.findall(r"(\w+) (-?\d+)", done.out)}
        trace = rank_trace(place)
        check_valid(place, trace)
        found, begin_s, end_s = counters_of(trace), begin_s_of(trace), window_s(trace)
        names = {name for _, name in found}
        check(PROCESS | NODE <= names, f"counters: {names}")
        check(not any(name.startswith("GPU") for name in names), f"GPUs that were not asked for: {names}")
        cpu_us = total(found[0, "process CPU %"], end_s) / 100 * 1e6
        print(f"CPU: counters {cpu_us:.0f} us, program {said['cpu_us']} us")
        check(abs(cpu_us - said["cpu_us"]) < 0.1 * said["cpu_us"] + 50_000, "CPU time is not the program's")
        check(max(sum(args.values()) for _, args in found[0, "process CPU %"]) < 2000, "one thread, some of ours")
        memory = [args["resident"] for _, args in found[0, "process memory bytes"]]
        print(f"memory: from {memory[0] / MIB:.0f} to {max(memory) / MIB:.0f} MiB")
        check(190 * MIB < max(memory) - memory[0] < 300 * MIB, "200 MiB were taken")
        if said["written_bytes"] > 0:
            written = total(found[0, "process storage bytes/s"], end_s, "written")
            print(f"written: counters {written:.0f}, program {said['written_bytes']}")
            check(abs(written - said["written_bytes"]) < 0.1 * said["written_bytes"] + MIB, "bytes written")
        for _, args in found[0, "node CPU %"]:
            check(sum(args.values()) <= 100.01, f"node CPU: {args}")
        installed = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024
        for _, args in found[0, "node memory bytes"]:
            check(abs(args["used"] + args["available"] - installed) < MIB, f"node memory: {args}")
        threads = {args["threads"] for _, args in found[0, "process threads"]}
        check(threads and 2 <= min(threads) and max(threads) < 20, f"threads: {threads}")
        for (_, name), samples in found.items():
            check(all(-1e-6 <= ts - begin_s <= end_s + 1e-6 for ts, _ in samples), f"{name}: outside of the window")
        check(facts(trace)["counters"]["samples"] > 0, "metadata")


def test_short():
    """A window that is shorter than the interval has a sample at each end, and the rate between them."""
    with Place() as place:
        done = place.run([COUNTED, 30, 0, 0, 1000], place.agent(**{**ON, "TRACEAGENT_COUNTERS_INTERVAL": "10min"}))
        check(done.code == 0, f"{done}")
        trace = rank_trace(place)
        found, begin_s, length_s = counters_of(trace), begin_s_of(trace), window_s(trace)
        memory = [ts - begin_s for ts, _ in found[0, "process memory bytes"]]
        # The startup window's may still be under way where this one begins: then that is one more.
        check(2 <= len(memory) <= 3, f"memory: {memory}")
        check(abs(memory[-1] - length_s) < 1e-6, f"the last is the end's: {memory} of {length_s}")
        check(all(ts < 0.9 * length_s for ts in memory[:-1]), f"the first is the beginning's: {memory} of {length_s}")
        check(1 <= len(found[0, "process CPU %"]) < len(memory), f"CPU: {found[0, 'process CPU %']}")


def test_ranks():
    """Every rank has its own, and the node's are there once."""
    with Place() as place:
        running = [place.start([STEADY, 12, 10, 100_000], variables) for variables in place.ranks(4, **ON)]
        ended = [end_of(process) for process in running]
        check([each.code for each in ended] == [3] * 4, f"{ended}")
        node = place.trace(next(name for name in place.files() if name.endswith("node0.json")))
        found = counters_of(node)
        for rank in range(4):
            check((rank, "process CPU %") in found, f"rank {rank} has no counters")
        for name in NODE:
            check([pid for pid, each in found if each == name] == [0], f"{name}: of {[p for p, n in found if n == name]}")


def threads_of(process):
    """By name."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return {(task / "comm").read_text().strip(): task for task in tasks}


def test_killed():
    with Place() as place:
        process = place.start([STEADY, 100_000, 10, 10_000], place.agent(**LONG))
        with killed_at_last(process):
            # The window begins with the third step; the thread that samples starts with the job.
            check(wait_until_said(process, "step 10"), "it records")
            check(wait_until(lambda: "traceagent-cnt" in threads_of(process)), "it samples")
            time.sleep(1.5)
        check(end_of(process).code == -signal.SIGKILL, "it was killed")
        variables = place.agent()
        del variables["LD_PRELOAD"]
        done = place.run([TRACEAGENT, "recover"], variables)
        check(done.code == 0, f"recover: {done}")
        trace = rank_trace(place)
        found = counters_of(trace)
        check(facts(trace).get("recovered") is True, "says that it was recovered")
        check(len(found[0, "process memory bytes"]) >= 5, f"samples: {len(found[0, 'process memory bytes'])}")
        check(len(found[0, "node CPU %"]) >= 1, "of the node")


@contextlib.contextmanager
def killed_at_last(process):
    try:
        yield
    finally:
        process.kill()


def test_off():
    for off in ({"TRACEAGENT_COUNTERS_SOURCES": "none"}, {"TRACEAGENT_CONFIG": "options.yaml"}):
        with Place() as place:
            (place.path / "options.yaml").write_text("counters: {sources: []}\n")
            variables = place.agent(**{**ON, **off})
            if "TRACEAGENT_CONFIG" in off:
                del variables["TRACEAGENT_COUNTERS_SOURCES"]
            done = place.run([COUNTED, 50, 0, 0, 0], variables)
            check(done.code == 0 and done.lines()[0].count("node0.json") == 1, f"{done}")
            trace = rank_trace(place)
            check(not counters_of(trace) and "counters" not in facts(trace), "nothing was asked for")
    with Place() as place:
        done = place.run([COUNTED, 0, 0, 0, 0], place.agent(
            **{**ON, "TRACEAGENT_COUNTERS_SOURCES": "gpus", "TRACEAGENT_COUNTERS_INTERVAL": "1ms"}))
        check(any('"gpus" is not one of process, node, gpu; the nearest is gpu' in line for line in done.lines()) and
              any("less than 10ms" in line for line in done.lines()), f"{done}")


def test_descriptors():
    """What is read is open in the thread that reads it, and in no table of the job's."""
    with Place() as place:
        process = place.start([STEADY, 100_000, 10, 10_000], place.agent(**LONG))
        with killed_at_last(process):
            own, deadline = None, time.monotonic() + TIMEOUT
            while time.monotonic() < deadline and process.poll() is None:
                threads = threads_of(process)
                own = [os.readlink(link) for link in (threads["traceagent-cnt"] / "fd").iterdir()] \
                    if "traceagent-cnt" in threads else []
                if any(link.endswith("/meminfo") for link in own):
                    break
                time.sleep(0.02)
            of_job = [os.readlink(link) for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()]
            check(own and all(link.startswith(("/proc/", "/sys/")) for link in own), f"the thread's: {own}")
            check(not any(link.startswith(("/proc/", "/sys/")) for link in of_job), f"the job's: {of_job}")
        end_of(process)


def gpu_run(place, **script):
    done = place.run([COUNTED, 300, 0, 0, 500], place.agent(**with_gpus(**script)))
    check(done.code == 0, f"{done}")
    trace = rank_trace(place)
    return trace, counters_of(trace)


def numbers_of_questions(found, gpu):
    """How often each value had been asked for before, sample by sample: the simulated NVML's answers hold it."""
    def answers(name, series):
        return [args[series] for _, args in found[0, f"GPU {gpu} {name}"]]
    return {"power": [round(watts - 100.5 * (gpu + 1), 6) for watts in answers("power W", "power")],
            "memory": [(used - ((gpu + 1) << 30)) / MIB for used in answers("memory bytes", "used")],
            "utilisation": [percent - gpu for percent in answers("utilisation %", "gpu")],
            "memory's utilisation": [percent - 10 * gpu for percent in answers("utilisation %", "memory")]}


def check_numbers(numbers_of):
    """Each answer is there once, in its order. A window may begin and end between two questions of one sample."""
    for value, numbers in numbers_of.items():
        # The startup window asks too; of what is a percentage the hundredth is 0 again.
        check(len(numbers) >= 3 and all((b - a) % 100 == 1 for a, b in zip(numbers, numbers[1:])), f"{value}: {numbers}")
    for which, end in (("first", 0), ("last", -1)):
        ends = [numbers[end] for numbers in numbers_of.values()]
        check(any(all((each - least) % 100 in (0, 1) for each in ends) for least in ends), f"{which}: {numbers_of}")


def check_gpus(**script):
    with Place() as place:
        trace, found = gpu_run(place, **script)
        check_valid(place, trace)
        check(facts(trace)["counters"]["gpus"] == [
            {"index": i, "name": "Simulated ?GPU?", "uuid": f"GPU-{i:08x}", "pci": f"00000000:{i + 1:02X}:00.0"}
            for i in range(2)], f"{facts(trace)['counters']}")
        for gpu in range(2):
            check_numbers(numbers_of_questions(found, gpu))
            check(all(args["total"] == 80 << 30 for _, args in found[0, f"GPU {gpu} memory bytes"]), "memory: total")
            for _, args in found[0, f"GPU {gpu} clocks MHz"]:
                check(args == {"SM": 1000 + gpu, "memory": 2000 + gpu}, f"clocks: {args}")
            for _, args in found[0, f"GPU {gpu} temperature C"]:
                check(args == {"gpu": 40 + gpu}, f"temperature: {args}")
            for _, args in found[0, f"GPU {gpu} throttled"]:
                check(args == {"power": 1 - gpu, "heat": 0, "hardware": 0, "settings": 0}, f"throttled: {args}")


def test_gpus():
    check_gpus()


def test_gpus_slow():
    """A sample that takes its time is under way when the window ends."""
    check_gpus(slow="nvmlDeviceGetMemoryInfo:30")


def dear_start(wait_ms):
    with Place() as place:
        done = place.run([COUNTED, 300, 0, 0, wait_ms], place.agent(
            **{**with_gpus(init_cpu=300), "TRACEAGENT_BUDGET_OVERHEAD": "1%"}))
        check(done.code == 0, f"{done}")
        return rank_trace(place)


def test_gpu_dear_start():
    """What opening NVML takes, once, is not what a sample takes: by that the next one would be in a minute."""
    # Whose thread is kept from its core may not have come to a sample when the window ends.
    for wait_ms in (1500, 6000, 24_000):
        trace = dear_start(wait_ms)
        if has_samples := (0, "GPU 0 power W") in counters_of(trace):
            break
    check(has_samples, "GPU counters")
    stretched_ns = facts(trace)["coverage"].get("counters_interval_ns", 0)
    print(f"the longest interval is {stretched_ns / 1e9:.1f} s")
    check(stretched_ns < 15e9, "the interval is of the start's cost")


def test_gpu_unseen():
    with Place() as place:
        running = [place.start([COUNTED, 300, 0, 0, 100], variables)
                   for variables in place.ranks(2, **with_gpus(gpus=1))]
        ended = [end_of(process) for process in running]
        check(all(each.code in (0, 3) for each in ended), f"{ended}")
        not_covered = facts(rank_trace(place))["counters"].get("not_covered")
        check(not_covered == ["GPU counters: local rank zero sees 1 GPU, the node has 2 ranks"], f"{not_covered}")


def test_room():
    """A window that stays open takes a sixteenth of the ring for samples, and says how many it had no room for."""
    with Place() as place:
        done = place.run([COUNTED, 0, 0, 0, 4000], place.agent(**{
            **ON, "TRACEAGENT_COUNTERS_INTERVAL": "10ms", "TRACEAGENT_RING_SIZE": "2MiB",
            "TRACEAGENT_BUDGET_OVERHEAD": "0"}))
        check(done.code == 0, f"{done}")
        about = facts(rank_trace(place))
        samples, missed = about["counters"]["samples"], about["coverage"].get("counters_missed", 0)
        print(f"{samples} samples, {missed} without room")
        check(1024 <= samples <= 2 * 1024 and missed > 0, f"{samples} samples, {missed} without room: 2 chunks of 32")


def test_gpu_errors():
    with Place() as place:
        trace, found = gpu_run(place, not_supported="nvmlDeviceGetPowerUsage", lost="1:0",
                               unknown="nvmlDeviceGetMemoryInfo:2")
        not_covered = facts(trace)["counters"]["not_covered"]
        check(not_covered == ["GPU 0 power W: not supported", "GPU 1: lost (NVML error 15)",
                              "GPU 0 memory bytes: NVML error 999 in some samples"], f"{not_covered}")
        check((0, "GPU 0 utilisation %") in found and (0, "GPU 0 power W") not in found, f"{list(found)}")
        check(not any("GPU 1" in name for _, name in found), f"of a lost GPU: {list(found)}")
        check(len(found[0, "GPU 0 utilisation %"]) >= len(found[0, "GPU 0 memory bytes"]), "an error is a gap")
    with Place() as place:
        trace, found = gpu_run(place, init=9)
        check(facts(trace)["counters"]["not_covered"] ==
              ["GPU counters: nvmlInit_v2 fails with NVML error 9"], f"{facts(trace)['counters']}")
        check((0, "process CPU %") in found, "the others are there")


def test_gpu_hangs():
    """It holds neither the others nor the job's end."""
    with Place() as place:
        began = time.monotonic()
        trace, found = gpu_run(place, hang="nvmlDeviceGetUtilizationRates:1")
        took_s = time.monotonic() - began
        check(took_s < TIMEOUT / 2, f"it took {took_s:.1f} s")
        check(len(found[0, "process memory bytes"]) >= 3, "the others are sampled")
        check(len(found[0, "GPU 0 power W"]) <= 1, "one that does not answer")
        check_valid(place, trace)


if __name__ == "__main__":
    for case in ARGUMENTS:
        globals()[f"test_{case}"]()
    sys.exit(checks.end())
