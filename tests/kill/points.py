"""Where a process is killed: before, after or half way through a call of libc that the agent makes.

The calls are those of a run that was let live, by place: function and return address. Calls of a thread that waits
for another differ from run to run, so a chosen call may not come: then the run ends well, and is no kill."""

import re

from fault_places import read_places

NEVER = ("__cxa_atexit", "__cxa_at_quick_exit", "__register_atfork", "getpid", "geteuid", "prctl")
# By who calls: the first that fits. What fits none are waits, looks at the machine, and the agent's threads.
PHASES = {
    "folder and ring": r"process::(make_own_folder|make_note|read_note|check_output_folder|ring_path$|run_file)|"
                       r"ring::(make_ring|map_what_is_granted|within_memory_limit|within_free_space|prepare)",
    "window and drain": r"process::(DrainThread|WindowWriter|has_room_for)|drain::|ring::first_in_new_chunk",
    "writing a file": r"trace::OutputFile::(open|write|finish)",
    "rename": r"trace::OutputFile::publish",
    "noting the file": r"ring::(add_line|read_list)|trace::(add_to_index|Index|create|read_at|write_at|remove_half_made)",
    "merge": r"trace::(InputFile|merge|scan_inputs)|process::ring_paths",
    "removing the ring": r"process::remove_",
    "counters": r"counters::|process::CounterThread",
}
REST = "the rest"


class Point:
    def __init__(self, place, call, action, caller):
        self.phase = next((name for name, who in PHASES.items() if re.match(who, caller)), REST)
        self.function, self.rule = place.function.name, place.rule(call, action)
        where = {"kill": "before", "kill_after": "after", "kill_half": "half of"}[action]
        self.name = f"{self.phase}: {where} {self.function}"

    def __repr__(self):
        return f"{self.rule} ({self.phase})"


def all_points(places, names):
    """Of a run: every call of every place, before and after; writes half way too."""
    return [Point(place, call, action, names.of(place.offset)) for place in read_places(places)
            if place.function.name not in NEVER and not place.function.is_memory
            for call in range(1, place.calls + 1) for action in actions_of(place.function.name)]


def actions_of(function):
    if function in ("write", "pwrite", "fwrite"):
        return ["kill", "kill_half", "kill_after"]
    return ["kill", "kill_after"]


def choose(points, count, chance):
    """So many of them, of each phase in turn."""
    phases = {phase: [point for point in points if point.phase == phase] for phase in [*PHASES, REST]}
    for group in phases.values():
        chance.shuffle(group)
    chosen = []
    while len(chosen) < count and any(phases.values()):
        chosen += [group.pop() for group in phases.values() if group]
    return chosen[:count]


def rules_beyond(places, usual, from_the_end):
    """In the form of FAULTS: what a run does at places that another run does not come to, or not so often;
    the first calls of each, or the last."""
    most = 12
    known, rules = {(place.function.name, place.offset): place.calls for place in usual}, []
    for place in places:
        if place.calls <= known.get((place.function.name, place.offset), 0) or place.function.name in NEVER or \
                place.function.is_memory:
            continue
        first = max(place.calls - most, 0) + 1 if from_the_end else 1
        rules += [place.rule(call, action) for call in range(first, min(first + most, place.calls + 1))
                  for action in actions_of(place.function.name)]
    return rules


def rules_of_tool(calls):
    """Each call of a tool, in the order in which it makes them, before, half way or after it in turn."""
    return [f"*#{call}={('kill', 'kill_half', 'kill_after')[call % 3]}" for call in range(1, calls + 1)]
