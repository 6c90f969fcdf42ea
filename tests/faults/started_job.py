"""What must hold of a job that `traceagent run` was to start, whatever failed in it."""

import re

# An error of its own, a bad command line, and as env(1): before the program's turn, cannot be run, not found.
REFUSALS = (1, 2, 125, 126, 127)


def is_refused(expected, ended):
    return ended.code in REFUSALS and ended.code != expected.bare.code


def refusal_problems(ended, files, given, left, is_voiceless):
    """One line, and nothing was begun."""
    # That standard output is full is a problem of its own, and has a line of its own.
    lines = [line for line in ended.lines() if "standard output: " not in line] or ended.lines()
    is_silent = is_voiceless and not lines
    if not is_silent and (len(lines) != 1 or lines[0].count(": ") < 2):
        yield f"not one line `what: file or value: remedy`: {lines}"
    if ended.own_err() or ended.out:
        yield f"says more than its line: {ended.out!r} {ended.own_err()}"
    if begun := sorted(set(files) - set(given)) + left:
        yield f"nothing is started, and these are there: {begun}"


def name_problems(expected, files):
    """As told on the command line; what a child wrote is named by its pid."""
    found, wanted = ({re.sub(r"pid\d+", "pid", name) for name in names} for names in (files, expected.names))
    if found != wanted:
        yield f"its files are {sorted(found)}, undisturbed {sorted(wanted)}"
