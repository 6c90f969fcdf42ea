"""What must hold of a window's counters, whatever went wrong: what is shown is true, and what is not there is
told of. The GPUs are the simulated NVML's, whose answers are known."""

import collections
import math
import pathlib
import re

from places import BUILD

# Samples are so dear here that the budget would make the intervals longer than the windows.
OPTIONS = {"TRACEAGENT_COUNTERS_SOURCES": "process, node, gpu", "TRACEAGENT_COUNTERS_INTERVAL": "10ms",
           "TRACEAGENT_BUDGET_OVERHEAD": "50%",
           "LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti:{BUILD}/sim/nvml:{BUILD}/programs"}
LONGEST_INTERVAL_NS = 600e9
GPU_NAME = re.compile(r"GPU (\d+) (.*)")
MIB, GIB = 1 << 20, 1 << 30
INSTALLED_BYTES = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024


def is_whole(number):
    return 0 <= number < 10_000 and abs(number - round(number)) < 1e-6


# Name → what its values are like; of a GPU: name → by the GPU's number.
OF_NODE = {
    "process memory bytes": lambda v: MIB <= v["resident"] < INSTALLED_BYTES,
    "process threads": lambda v: 2 <= v["threads"] < 50,
    "node CPU %": lambda v: sum(v.values()) <= 100.01,
    "node memory bytes": lambda v: abs(v["used"] + v["available"] - INSTALLED_BYTES) < MIB,
}
OF_GPU = {
    "utilisation %": lambda gpu, v: (v["memory"] - v["gpu"] - 9 * gpu) % 100 == 0,
    "memory bytes": lambda gpu, v: v["total"] == 80 * GIB and is_whole((v["used"] - (gpu + 1) * GIB) / MIB),
    "power W": lambda gpu, v: is_whole(v["power"] - 100.5 * (gpu + 1)),
    "clocks MHz": lambda gpu, v: v["SM"] == 1000 + gpu and v.get("memory", 2000 + gpu) == 2000 + gpu,
    "temperature C": lambda gpu, v: v["gpu"] == 40 + gpu,
    "throttled": lambda gpu, v: v == {"power": int(gpu == 0), "heat": 0, "hardware": 0, "settings": 0},
}


def is_true(name, values, is_simulated):
    if not values or not all(math.isfinite(value) and value >= 0 for value in values.values()):
        return False
    gpu = GPU_NAME.fullmatch(name)
    if gpu:
        return not is_simulated or OF_GPU[gpu[2]](int(gpu[1]), values)
    return OF_NODE.get(name, lambda _: True)(values)


def counters_in(trace):
    """(pid, name) → [(ts, values)]"""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("ph") == "C":
            found[event["pid"], event["name"]].append((event["ts"], event["args"]))
    return found


def lies_in(trace, is_simulated):
    """`is_simulated`: the GPUs are NVML's of OPTIONS; else the machine may have some."""
    for (_, name), samples in counters_in(trace).items():
        wrong = [values for _, values in samples if not is_true(name, values, is_simulated)]
        if wrong:
            yield f"{name} is {wrong[:2]}"


def of_rank_zero(traces):
    """The names that its files show, and what they tell of those that are not there."""
    names, told = set(), set()
    for file, trace in traces.contents.items():
        if not re.search(r"rank0\.json$", file) or file.startswith("there/"):
            continue
        names |= {name for _, name in counters_in(trace)}
        about = trace.get("traceagent", {})
        told |= set(about.get("counters", {}).get("not_covered", []))
        told |= {key for key in about.get("coverage", {}) if "counters" in key}
    return names, told


def problems(usual, traces, is_about_counters, says_so):
    """`usual`: of_rank_zero() of a run where nothing went wrong. Where it is not about counters, some may lack."""
    for file, trace in traces.contents.items():
        yield from (f"{file}: {lie}" for lie in lies_in(trace, is_about_counters))
        longest_ns = trace.get("traceagent", {}).get("coverage", {}).get("counters_interval_ns", 0)
        if longest_ns > LONGEST_INTERVAL_NS:
            yield f"{file}: an interval of {longest_ns / 1e9:.0f} s"
    names, told = of_rank_zero(traces)
    lacks = usual[0] - names
    if is_about_counters and lacks and not says_so and told <= usual[1]:
        yield f"no counters and nobody says so: {sorted(lacks)}"
