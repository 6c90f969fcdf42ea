#!/usr/bin/env python3
"""Small programs with one behaviour each, alone and in every state of the agent: what they print, how
they end, what they leave and what their children see must be the same.

usage: transparency_test.py BUILD [--group G] [--case NAME]... [--state S] [--verbose] [--repeat N]
By night:  transparency_test.py build --case fork_while_tracing --forks 10000
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import cases
import keeper
import states

LIMIT_S = 45
PARALLEL = 3


class Place:
    """Where one run happens: a working folder, the outputs, and folders for rings and traces."""

    def __init__(self, base, rings, case, state):
        self.case, self.state = case, state
        self.folder = base / f"{case.name}-{state}"
        self.rings = rings / f"{case.name}-{state}"
        self.work = self.folder / "work"
        for folder in (self.work, self.rings):
            folder.mkdir(parents=True)
        # Programs that give up root must be as able as before.
        for folder in (self.folder, self.work):
            folder.chmod(0o777)
        self.rings.chmod(0o777)

    def left_of_agent(self):
        files = [path for path in (self.folder / "traces").rglob("*") if "rank" in path.name]
        rings = [path for path in self.rings.rglob("*") if path.is_file()]
        return {"file": bool(files), "ring": bool(rings), "any": bool(files or rings)}


class Runner:
    def __init__(self, build, base, rings, forks):
        self.build, self.base, self.rings, self.forks = build, base, rings, forks
        self.programs = build / "transparency"
        self.agent = build / "lib/libtraceagent.so"
        self.copy = base / "copy-of-libtraceagent.so"
        shutil.copy(self.agent, self.copy)

    def command(self, case):
        words = [word.replace("{programs}", str(self.programs)).replace("{forks}", str(self.forks))
                 for word in case.command]
        return words if words[0].startswith("/") else [str(self.programs / words[0]), *words[1:]]

    def preload(self, case, with_agent):
        names = {"agent": self.agent, "copy": self.copy, "clock": self.programs / "libraries/libjumping_clock.so"}
        wanted = [name for name in case.preload.split(":") if with_agent or name not in ("agent", "copy")]
        return ":".join(str(names[name]) for name in wanted)

    def variables(self, place):
        case = place.case
        kept = {key: value for key, value in os.environ.items()
                if not re.match(r"TRACEAGENT_|SIMGPU_|OMPI_|PMI|SLURM_|NCCL_|NVTX_|CUDA_|(RANK|LOCAL_RANK|WORLD_SIZE)$|"
                                r"LD_PRELOAD$", key)}
        libraries = [self.build / "sim/lib", self.build / "sim/cupti", self.programs / "libraries"]
        if case.libraries == "synchronous":
            libraries.insert(0, self.programs / "synchronous")
        kept["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
        state = states.STATES[place.state]
        preload = self.preload(case, state is not None)
        if preload:
            kept["LD_PRELOAD"] = preload
        if state is not None:
            kept |= {"TRACEAGENT_RING_FOLDER": str(place.rings), "TRACEAGENT_RUN_NAME": "run",
                     "TRACEAGENT_OUTPUT_FOLDER": str(place.folder / "traces"), **state}
        return kept | {key: value.replace("{programs}", str(self.programs))
                       for key, value in case.environment.items()}

    def start(self, place):
        return keeper.start(place.folder / "result", self.command(place.case), self.variables(place), place.work,
                            place.folder / "out", place.folder / "err", LIMIT_S + self.forks)


class Ended:
    """What one run showed, as it is compared."""

    def __init__(self, place):
        self.place = place
        result = json.loads((place.folder / "result").read_text()) if (place.folder / "result").exists() else {}
        self.code, self.left = result.get("code", "no result"), result.get("left", 0)
        self.seconds = result.get("seconds", 0)
        paths = re.compile("|".join(map(re.escape, (str(place.folder), str(place.rings)))))
        self.files = json.loads(paths.sub("PLACE", json.dumps(result.get("files", {}))))
        self.out, err = (paths.sub("PLACE", (place.folder / name).read_text(errors="replace")).splitlines()
                         if (place.folder / name).exists() else [] for name in ("out", "err"))
        self.said = [line for line in err if line.startswith("traceagent: ")]
        self.err = [line for line in err if not line.startswith("traceagent: ")]

    def shown(self, unwatched):
        seen = {"code": self.code, "left running": self.left, "out": states.without_ours(self.out),
                "err": self.err, "files": {name: [mode, states.without_ours(content.splitlines())]
                                           for name, (mode, content) in self.files.items()}}
        return {key: value for key, value in seen.items() if key not in unwatched}


def difference(bare, traced):
    for key, wanted in bare.items():
        if traced[key] == wanted:
            continue
        if isinstance(wanted, list):
            lost = [line for line in wanted if line not in traced[key]]
            new = [line for line in traced[key] if line not in wanted]
            return f"{key}: lost {lost[:4]}, new {new[:4]}" if lost or new else f"{key}: in another order"
        return f"{key}: {traced[key]!r}, without the agent {wanted!r}"
    return ""


def verdict(case, bare, ended):
    """What is wrong with a run; "" where nothing is."""
    wrong = difference(bare.shown(case.unwatched), ended.shown(case.unwatched))
    left = ended.place.left_of_agent()
    if not wrong and ended.place.state == "active" and case.leaves != "nothing" and not left[case.leaves]:
        wrong = f"the agent left no {case.leaves}: {ended.said}"
    if not wrong and any("left out" in line for line in ended.said):
        wrong = f"the agent lost what it had recorded: {ended.said}"
    if not wrong and ended.place.state == "off" and (left["any"] or ended.said):
        wrong = f"the agent is off and left something: {ended.said}"
    return wrong


def run_all(runner, places, parallel):
    waiting, running = list(reversed(places)), {}
    while waiting or running:
        while waiting and len(running) < parallel:
            place = waiting.pop()
            running[runner.start(place)] = place
        pid, _ = os.wait()
        running.pop(pid, None)


def cell(case, state, wrong):
    if state in case.differs:
        return "explained" if wrong else "NO LONGER"
    return "DIFFERS" if wrong else "same"


def compare(wanted, ended):
    """Prints the problems; the rows of the table, and how many are bad."""
    rows, bad, others = [], 0, [state for state in states.STATES if state != "absent"]
    for case in wanted:
        bare, cells = ended[case.name, "absent"], []
        for state in others:
            if (case.name, state) not in ended:
                continue
            wrong = verdict(case, bare, ended[case.name, state])
            cells.append(cell(case, state, wrong))
            if cells[-1] not in ("same", "explained"):
                bad += 1
                print(f"{case.name}, agent {state}: {wrong or 'no difference any more'}", flush=True)
        if bare.code in ("hangs", "no result", 77, 126, 127):
            bad += 1
            print(f"{case.name} alone: {bare.code} {bare.err}")
        rows.append((case.name, f"{bare.code}", *cells))
    return rows, bad


def table(rows):
    heads = ("program", "absent", *(state for state in states.STATES if state != "absent"))
    widths = [max(len(row[i]) for row in [heads, *rows] if i < len(row)) for i in range(len(heads))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip()
                     for row in [heads, *rows]) + "\n"


def chosen(options):
    wanted = [case for case in cases.CASES if (not options.group or case.group == options.group)
              and (not options.case or case.name in options.case)]
    return [case for case in wanted if not case.root or os.geteuid() == 0]


def show(ended):
    for (name, state), run in ended.items():
        print(f"--- {name}, {state}: {run.code} in {run.seconds:.2f} s", *run.out, *run.err, *run.said, *run.files, sep="\n")


def run_once(options, build, wanted):
    with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder, \
            tempfile.TemporaryDirectory(prefix="traceagent-test-", dir="/dev/shm") as rings:
        for path in (folder, rings):
            os.chmod(path, 0o755)
        runner = Runner(build, pathlib.Path(folder), pathlib.Path(rings), options.forks)
        wanted_states = [state for state in states.STATES if not options.state or state in ("absent", options.state)]
        places = [Place(runner.base, runner.rings, case, state) for case in wanted for state in wanted_states]
        run_all(runner, places, PARALLEL)
        ended = {(place.case.name, place.state): Ended(place) for place in places}
        if options.verbose:
            show(ended)
        rows, bad = compare(wanted, ended)
        slow = [f"{name} {state} {run.seconds:.1f} s" for (name, state), run in ended.items()
                if run.seconds > ended[name, "absent"].seconds + 2]
        return rows, bad, slow


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
    wanted, all_bad = chosen(options), 0
    for _ in range(options.repeat):
        rows, bad, slow = run_once(options, build, wanted)
        all_bad += bad
    text = table(rows)
    print(text, end="")
    print(*(f"slow: {line}" for line in slow), sep="\n", end="\n" if slow else "")
    if options.group and not options.case and not options.state:
        tables = build / "tests/tables"
        tables.mkdir(parents=True, exist_ok=True)
        (tables / f"transparency-{options.group}.txt").write_text(text)
    runs = sum(len(row) - 2 for row in rows)
    print(f"{len(rows)} programs, {runs} runs with the agent, {all_bad} differ")
    return 1 if all_bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
