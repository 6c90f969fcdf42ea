"""A cell of the matrix: at one place, one of its calls fails in one way; alone, or behind another cell's fault."""

MEMORY = ("malloc", "calloc", "realloc", "aligned_alloc", "strdup")
MEMORY_CALLS = 30
# A clock is read, or an event awaited, thousands of times in one place: these are spread over a run.
MOST_CALLS = 40


class Cell:
    """`beneath`: the cell whose fault led to this one's place; it strikes here too."""

    def __init__(self, scenario, place, call, lasts, action, beneath=None):
        self.scenario, self.place, self.call, self.lasts, self.action = scenario, place, call, lasts, action
        self.beneath = beneath
        self.problems, self.lines, self.was_reached = [], [], False
        self.found = []  # places of the run

    def faults(self):
        """This one, and those beneath it."""
        return [self] + (self.beneath.faults() if self.beneath else [])

    def rule(self):
        return ",".join(each.place.rule(each.call, each.action, each.lasts) for each in self.faults())

    def fails(self, *names):
        return any(each.place.function.name in names for each in self.faults())

    def does(self, action):
        return any(each.action == action for each in self.faults())

    def is_of_memory(self):
        return self.fails("mmap") or any(each.place.function.is_memory for each in self.faults())

    def key(self):
        return self.scenario.object, self.place.function.name, self.place.offset

    def outcome(self):
        if self.problems:
            return "BAD: " + "; ".join(self.problems)
        if not self.was_reached:
            return "not reached this time"
        return "one line: " + self.lines[0] if self.lines else "nothing missing"


def calls_of(place, options):
    """(the how-manieth call, and all that follow?)"""
    is_whole = "--all" in options or "--count" in options
    if place.function.name in MEMORY:
        step = 1 if is_whole else max(1, place.calls // MEMORY_CALLS)
        return [(call, lasts) for call in range(1, place.calls + 1, step) for lasts in (False, True)]
    step = max(1, place.calls // MOST_CALLS)
    few = 1 if "--brief" in options else 2
    calls = range(1, place.calls + 1, step) if is_whole else range(1, min(place.calls, few) + 1)
    return [(call, False) for call in calls] + [(1, True)]


def cells_at(scenario, place, options, beneath=None):
    return [Cell(scenario, place, call, lasts, action, beneath)
            for action in place.function.actions for call, lasts in calls_of(place, options)]
