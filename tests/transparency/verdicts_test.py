#!/usr/bin/env python3
"""What the table says of made-up runs: a row that may differ may do so in what it names, and in nothing else."""
import contextlib
import io
import sys

import cases
import runs
import verdicts

OUT = ["sum 0", "mapped 0 times", "state end: Umask: 0022"]
MAPPED = ["sum 0", "mapped 40 times", "state end: Umask: 0022"]
SAID = ["traceagent: PLACE/traces/node0.json: 1 rank, 8 events, 0 lost"]
ROW = cases.Case("mapped", "made_up", [], differs={"active": cases.Differs(
    "it stays mapped", lost=("out: mapped 0 times",), new=(r"out: mapped \d+ times",))})
KILLED = cases.Case("killed", "made_up", [], differs={"active": cases.Differs(
    "a filter sees it", lost=("code: 3", "out: .*"), new=("code: -31",))})
# Even one whose row would let it.
ANY_END = cases.Case("any_end", "made_up", [], differs={"active": cases.Differs("it ends otherwise", lost=("code: .*",), new=("code: .*",))})
# (row, what the run with the agent shows other than the one without, what the table says)
RUNS = [
    (ROW, {"out": MAPPED}, "explained"),
    (ROW, {}, "NO LONGER"),
    (ROW, {"out": MAPPED, "code": "hangs"}, "DIFFERS"),
    (ROW, {"out": MAPPED, "code": "no result"}, "DIFFERS"),
    (ROW, {"out": MAPPED, "code": -11}, "DIFFERS"),
    (ROW, {"out": MAPPED, "code": 4}, "DIFFERS"),
    (ROW, {"out": MAPPED, "left": 1}, "DIFFERS"),
    (ROW, {"out": MAPPED, "err": ["oh"]}, "DIFFERS"),
    (ROW, {"out": MAPPED, "files": {"core": ["0o100644", ""]}}, "DIFFERS"),
    (ROW, {"out": [*MAPPED, "oh"]}, "DIFFERS"),
    (ROW, {"out": MAPPED[1:]}, "DIFFERS"),
    (ROW, {"out": MAPPED[::-1]}, "DIFFERS"),
    (ROW, {"out": [OUT[0], OUT[2]]}, "DIFFERS"),
    (ROW, {"out": MAPPED, "file": False}, "DIFFERS"),
    (KILLED, {"out": [], "code": -31}, "explained"),
    (KILLED, {"out": [], "code": -11}, "DIFFERS"),
    (KILLED, {"out": [], "code": "hangs"}, "DIFFERS"),
    (KILLED, {"out": OUT[:1], "code": -31}, "DIFFERS"),
    (KILLED, {"code": -31}, "DIFFERS"),
    (KILLED, {"out": []}, "DIFFERS"),
    (ANY_END, {"code": 4}, "explained"),
    (ANY_END, {"code": "hangs"}, "DIFFERS"),
    (ANY_END, {"code": "no result"}, "DIFFERS"),
]


class MadeUpPlace:
    def __init__(self, state, has_file):
        self.state, self.has_file = state, has_file

    def left_of_agent(self):
        return {"file": self.has_file, "packed": False, "ring": False, "any": self.has_file}


class MadeUp(runs.Ended):
    def __init__(self, state, code=3, out=(), err=(), left=0, files=None, file=True):
        self.place = MadeUpPlace(state, file and state == "active")
        self.code, self.out, self.err, self.left, self.files = code, [*out], [*err], left, files or {}
        self.said, self.reports = SAID if state == "active" else [], []


def said_of(case, state, **with_agent):
    """What the table says of the case, run in this state alone."""
    ended = {(case.name, "absent"): MadeUp("absent", out=OUT), (case.name, state): MadeUp(state, **{"out": OUT} | with_agent)}
    with contextlib.redirect_stdout(io.StringIO()):
        (row,), _, _ = verdicts.compare([case], ended)
    return next(word for word in row[2:] if word != "-")


def problems():
    for case, shown, wanted in RUNS:
        if (found := said_of(case, "active", **shown)) != wanted:
            yield f"{case.name}, {shown}: {found}, wanted {wanted}"
    for case in cases.CASES:
        for state in case.differs:
            for code in ("hangs", "no result", -11, -6, 9):
                if (found := said_of(case, state, code=code)) != "DIFFERS":
                    yield f"{case.name}, {state}, code {code}: {found}"


def main():
    found = list(problems())
    print(*found, f"{len(found)} problems", sep="\n")
    return 1 if found else 0


sys.exit(main())
