"""The rows of faults.def: what the agent and the tools may call, and what each call may answer."""

import pathlib
import re

ROWS = re.compile(r'^(FAULT|DONE|MEMORY|CALL)\((\w+), (\w+), "([^"]*)"\)$', re.MULTILINE)
PURE = re.compile(r"^PURE\((\w+)\)$", re.MULTILINE)


class Function:
    def __init__(self, kind, name, tells, actions):
        self.kind, self.name, self.tells, self.actions = kind, name, tells, actions.split()

    @property
    def is_memory(self):
        return self.kind == "MEMORY"


def _text():
    return (pathlib.Path(__file__).parent / "faults.def").read_text()


def functions():
    """In the order of the file, which is that of the numbers in a place table."""
    return [Function(*row) for row in ROWS.findall(_text())]


def pure_names():
    return set(PURE.findall(_text()))
