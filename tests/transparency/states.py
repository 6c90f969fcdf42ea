"""The states that the agent can be in, what shows that it was in them, and what may differ with them, each
with its reason."""
import re

# From the first synchronization on, which the programs begin with.
BY_SYNCHRONIZATION = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize"}
_SMALL = {"TRACEAGENT_RING_SIZE": "4MiB"}  # 64 MiB take the kernel longer than the program
# The name of a state: the variables that make it. absent: the program alone.
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
WITH_AGENT = [state for state in STATES if state != "absent"]


def unproved(case, state, said, shown, left):
    """Why a run does not show that the agent was in the state; "" where it does. said: its own lines; shown:
    all lines of the program's output and files; left: which of "file", "packed", "ring", "any" lie there."""
    if state == "off":
        return "it left something, or said something" if left["any"] or said else ""
    if state == "active":
        return f"it left no {case.leaves}" if case.leaves != "nothing" and not left[case.leaves] else ""
    if state == "waiting" and left["file"]:
        return "it left a file"
    if state == "failing" and left["any"]:
        return "it left something"
    # Only a line, a ring or the ring's descriptor tells a waiting agent from none.
    if case.unseen or (state == "waiting" and left["ring"]):
        return ""
    sign = {"waiting": r"state .*/ring-|state .*\.ring|state .*memfd:traceagent-ring",
            "failing": r"state .*memfd:traceagent-ring"}[state]
    said_so = any(state == "waiting" or "/proc/no-such-folder" in line for line in said)
    return "" if said_so or any(re.match(sign, line) for line in shown) else "nothing shows that it was there"


# Lines of a program that may be there with the agent and not without: (pattern, reason).
_VARIABLE = r"(state .*: environment )?"
ALLOWED_LINES = [
    (_VARIABLE + r"LD_PRELOAD=.*", "the user's own; a child is traced by it"),
    (_VARIABLE + r"TRACEAGENT_[A-Z_]+=.*", "the user's own options"),
    (_VARIABLE + r"NVTX_INJECTION64_PATH=.*/(copy-of-)?libtraceagent\.so", "NVTX looks there for us; children keep it"),
    (_VARIABLE + r"NCCL_PROFILER_PLUGIN=STATIC_PLUGIN", "NCCL looks there for us; children keep it"),
    (r"state .*: thread traceagent(-gpu|-cnt|-nvml)? blocks .*",
     "the writer's thread, CUPTI's with it, and those that sample counters"),
    (r"state .*: thread .* blocks fffffffe7ffbfeff",
     "a thread that has every signal blocked and no name (yet, or since it cannot be set): ours, the simulated GPU's"),
    (r"state .*: descriptor (5\d\d|[6-9]\d\d) \S*(/ring-\S*|/memfd:traceagent-ring.*|\S*\.ring.*)",
     "the ring, at a number that no program guesses"),
    (r"state .*: descriptor \d+ (/proc/|/sys/|PLACE/traceagent-\d|PLACE/traces|/etc/ld\.so\.cache|\S*/libcupti\.so)\S*",
     "what our threads are opening, until it has a high number (tests/faults/descriptors_test.py)"),
]


def without_allowed(lines, allowed, used=None):
    """The lines that are compared. used: a set that the reasons of those left out are put into."""
    kept = []
    for line in lines:
        reason = next((reason for pattern, reason in allowed if re.fullmatch(pattern, line)), None)
        if reason is None:
            kept.append(line)
        elif used is not None:
            used.add(reason)
    return kept
