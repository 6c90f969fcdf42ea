"""The states that the agent can be in, and what may differ with it, each with its reason."""
import re

# From the first synchronization on, which the programs begin with.
BY_SYNCHRONIZATION = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize"}
# The name of a state: the variables that make it. absent: the program alone.
_SMALL = {"TRACEAGENT_RING_SIZE": "4MiB"}  # 64 MiB take the kernel longer than the program
STATES = {
    "absent": None,
    "off": {"TRACEAGENT_ENABLED": "false"},
    # A window that never comes: after the first step nothing is recorded.
    "waiting": {**_SMALL, **BY_SYNCHRONIZATION, "TRACEAGENT_SCHEDULE": "wait=1000000000,warmup=0,active=1"},
    "active": {**_SMALL, **BY_SYNCHRONIZATION, "TRACEAGENT_SCHEDULE": "warmup=0,active=1000000000,repeat=1"},
    # Neither a ring in memory nor a file can be made, by root neither.
    "failing": {**_SMALL, **BY_SYNCHRONIZATION, "TRACEAGENT_SCHEDULE": "warmup=0,active=1000000000,repeat=1",
                "TRACEAGENT_RING_FOLDER": "/proc/no-such-folder",
                "TRACEAGENT_OUTPUT_FOLDER": "/proc/no-such-folder/traces"},
}

# Lines of a program that may be there with the agent and not without: (pattern, reason).
ALLOWED_LINES = [
    (r"LD_PRELOAD=.*", "the user's own; a child is traced by it"),
    (r"TRACEAGENT_[A-Z_]+=.*", "the user's own options"),
    (r"NVTX_INJECTION64_PATH=.*/libtraceagent\.so", "NVTX looks there for us; children keep it"),
    (r"NCCL_PROFILER_PLUGIN=STATIC_PLUGIN", "NCCL looks there for us; children keep it"),
    (r"state .*: thread traceagent(-gpu|-cnt|-nvml)?", "the writer's thread, CUPTI's with it, and those that sample counters"),
    (r"state .*: descriptor (5\d\d|[6-9]\d\d) \S*(/ring-\S*|/memfd:traceagent-ring.*|\S*\.ring.*)",
     "the ring, at a number that no program guesses"),
    (r"state .*: descriptor \d+ /proc/\d+/(task|fd|maps|stat)\S*", "the writer's thread looks if it is alone"),
]
_allowed = re.compile("|".join(f"(?:{pattern})" for pattern, _ in ALLOWED_LINES))


def without_ours(lines):
    return [line for line in lines if not _allowed.fullmatch(line)]


def explain():
    return [f"allowed: {pattern}: {reason}" for pattern, reason in ALLOWED_LINES]
