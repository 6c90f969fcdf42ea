#!/usr/bin/env python3
"""Small programs with one behaviour each, alone and in every state of the agent: what they print, how
they end, what they leave and what their children see must be the same.

usage: transparency_test.py BUILD [--group G] [--case NAME]... [--state S] [--verbose] [--repeat N]
By night:  transparency_test.py build --case fork_while_tracing --forks 10000
"""
import argparse
import os
import pathlib
import sys
import tempfile

import cases
import runs
import sanitizers
import states
import verdicts
from preloaded import OTHERS

def reason_left_out(case, build):
    release = case.group
    if release in cases.RELEASES and not (build / f"deps/other_libraries/{release}/.setup_libraries_of_{release}").exists():
        return f"no libraries of Debian {release}: packaging/setup --tests fetches them"
    missing = [name for name in case.preload.split(":") if name in OTHERS and OTHERS[name].path(build) is None]
    if missing:
        return f"{OTHERS[missing[0]].library} is not here: run packaging/setup --tests"
    if case.root and os.geteuid() != 0:
        return "it needs root"
    reason = sanitizers.reason_left_out(case.name)
    return reason and f"under the sanitizers: {reason}"


def chosen(options, build):
    """The cases to run, and a line for each that is left out."""
    wanted = [case for case in cases.CASES if (not options.group or case.group == options.group)
              and (not options.case or case.name in options.case)]
    reasons = {case.name: reason_left_out(case, build) for case in wanted}
    return ([case for case in wanted if not reasons[case.name]],
            [f"{name} is left out: {reason}" for name, reason in reasons.items() if reason])


def show(ended):
    for (name, state), run in ended.items():
        print(f"--- {name}, {state}: {run.code} in {run.seconds:.2f} s", *run.out, *run.err, *run.said, *run.files, sep="\n")


def run_once(options, build, wanted):
    with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder, \
            tempfile.TemporaryDirectory(prefix="traceagent-test-", dir="/dev/shm") as rings:
        for path in (folder, rings):
            os.chmod(path, 0o755)
        runner = runs.Runner(build, pathlib.Path(folder), pathlib.Path(rings), options.forks)
        wanted_states = [state for state in states.STATES if not options.state or state in ("absent", options.state)]
        places = [runs.Place(runner.base, runner.rings, case, state) for case in wanted for state in wanted_states
                  if state in case.states]
        runs.run_all(runner, places, runs.PARALLEL)
        ended = {(place.case.name, place.state): runs.Ended(place) for place in places}
        if options.verbose:
            show(ended)
        rows, reasons, bad = verdicts.compare(wanted, ended)
        slow = [f"{name} {state} {run.seconds:.1f} s" for (name, state), run in ended.items()
                if run.seconds > ended[name, "absent"].seconds + 2]
        return verdicts.table(rows, reasons), len(places) - len(wanted), bad, slow


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--group")
    parser.add_argument("--case", action="append")
    parser.add_argument("--state", choices=states.STATES)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--forks", type=int, default=20, help="of fork_while_tracing")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "lib/libtraceagent.so").exists():
        print("skipped: the library is not built")
        return 77
    (wanted, left_out), all_bad, text, count, slow = chosen(options, build), 0, "", 0, []
    for _ in range(options.repeat if wanted else 0):
        text, count, bad, slow = run_once(options, build, wanted)
        all_bad += bad
    text += "".join(f"{line}\n" for line in left_out)
    print(text, end="")
    print(*(f"slow: {line}" for line in slow), sep="\n", end="\n" if slow else "")
    if options.group and not options.case and not options.state:
        tables = build / "tests/tables"
        tables.mkdir(parents=True, exist_ok=True)
        (tables / f"transparency-{options.group}.txt").write_text(text)
    print(f"{len(wanted)} programs, {count} runs with the agent, {all_bad} differ")
    return 77 if left_out and not wanted else 1 if all_bad or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
