"""Where a process is killed: before, after or half way through a call of libc that the agent makes.

The calls are those of a run that was let live. Counted per function: the second renameat2 is that of
the second rank file, the last one that of the node's file. Calls of a thread that waits for another
differ from run to run, so a chosen call may not come: then the run ends well, and is no kill."""

import collections

from fault_places import read_places

# What leaves or takes something that outlives the process. In the short form all others are rarer.
LASTING = ("open", "close", "write", "renameat2", "rename", "unlink", "rmdir", "mkdir", "posix_fallocate", "fcntl",
           "mmap", "madvise", "ftruncate")
NEVER = ("__cxa_atexit", "__cxa_at_quick_exit", "__register_atfork", "getpid", "geteuid", "prctl")


class Point:
    def __init__(self, function, call, action):
        self.function, self.call, self.action = function, call, action

    def __repr__(self):
        return self.rule

    @property
    def rule(self):
        return f"{self.function}#{self.call}={self.action}"

    @property
    def name(self):
        where = {"kill": "before", "kill_after": "after", "kill_half": "half of"}[self.action]
        return f"{where} {self.function}"


def all_points(places):
    """Of a run: every call of every function, before and after; writes half way too."""
    calls = collections.Counter()
    for place in read_places(places):
        if place.function.name not in NEVER and not place.function.is_memory:
            calls[place.function.name] += place.calls
    return [Point(function, call, action) for function, count in sorted(calls.items())
            for call in range(1, count + 1) for action in actions_of(function)]


def actions_of(function):
    if function in ("write", "pwrite", "fwrite"):
        return ["kill", "kill_half", "kill_after"]
    return ["kill", "kill_after"]


def choose(points, count, chance):
    """So many of them: every file's change of name, then each function and action in turn, those with
    lasting effects more often."""
    vital = [point for point in points if point.function == "renameat2"]
    chance.shuffle(vital)
    points = [point for point in points if point.function != "renameat2"]
    groups = collections.defaultdict(list)
    for point in points:
        groups[point.function, point.action].append(point)
    for group in groups.values():
        chance.shuffle(group)
    chosen = vital[:count // 2]
    order = sorted(groups, key=lambda key: (key[0] not in LASTING, key))
    lasting = [key for key in order if key[0] in LASTING]
    while len(chosen) < count and any(groups.values()):
        # Three rounds of the lasting ones for one of all.
        for keys in (lasting, lasting, lasting, order):
            for key in keys:
                if groups[key] and len(chosen) < count:
                    chosen.append(groups[key].pop())
    return chosen


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
