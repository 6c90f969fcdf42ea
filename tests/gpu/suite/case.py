"""A case: a function of a Bench, with a name, a time limit and what it needs."""

import dataclasses
from collections.abc import Callable

ALL = {}
# What a case leaves under this name in its folder goes where --example says.
EXAMPLE = "example.json"


class Skip(Exception):
    """What is missing, in a few words."""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    about: str
    run: Callable
    limit_s: int      # with --simulate four times as long: this may be a busy machine
    alone: bool       # measures time: nothing runs beside it
    quick: bool       # also with --quick
    needs: tuple      # Python modules


def case(about, *, limit_s=90, alone=False, quick=False, needs=(), name=None):
    def keep(function):
        named = name or function.__name__
        assert named not in ALL, named
        ALL[named] = Case(named, about, function, limit_s, alone, quick, tuple(needs))
        return function
    return keep


class Row:
    """What a case found: figures in the order they were noted, and what is wrong."""

    def __init__(self):
        self.figures, self.problems, self.notes = {}, [], []

    def figure(self, name, value):
        self.figures[name] = value

    def note(self, text):
        self.notes.append(text)

    def check(self, condition, problem):
        if not condition:
            self.problems.append(problem)
        return bool(condition)

    def add_problems(self, problems, most=5):
        problems = list(problems)
        self.problems += problems[:most]
        if len(problems) > most:
            self.problems.append(f"and {len(problems) - most} more of this kind")
