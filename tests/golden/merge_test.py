#!/usr/bin/env python3
"""Merges of other people's traces are the committed ones: merge_test.py BUILD_FOLDER [--update]

Each folder of merge/ is a case: its traces (*.plain is compressed first), perhaps case.json with
arguments, the exit status and whether clocks are aligned, and what must come out of it:
expected.json, and expected.txt with what is said. Where all of its traces are JSON with one clock,
Python's own reading of them agrees, unless it is asked for steps alone.
"""
import difflib
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "process"))
import foreign_truth  # noqa: E402

BUILD, UPDATE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] == ["--update"]
OURS = ("case.json", "expected.json", "expected.txt")


def inputs_of(case, folder):
    """Copies, so that no path of this machine is said."""
    names = []
    for path in sorted(case.iterdir()):
        if path.name in OURS:
            continue
        is_plain = path.name.endswith(".plain")
        name = path.name.removesuffix(".plain")
        (folder / name).write_bytes(gzip.compress(path.read_bytes()) if is_plain else path.read_bytes())
        names.append(name)
    return names


def compare(path, text):
    # Of compressed files it depends on the compressor.
    text = re.sub(r'("content": ?")[0-9a-f]{8}-[0-9]+', r'\1MARK', text)
    if UPDATE:
        path.write_text(text)
    golden = path.read_text() if path.exists() else ""
    return list(difflib.unified_diff(golden.splitlines(), text.splitlines(), str(path), "now", lineterm="", n=1))


def truth(folder, names, output):
    """Differences from Python's reading; none where it cannot tell."""
    try:
        if any(foreign_truth.events_of(folder / name)[0] is None for name in names):
            return []
    except ValueError:
        return []
    return foreign_truth.differences(output, [folder / name for name in names])[1]


def problems_of(case):
    wanted = json.loads((case / "case.json").read_text()) if (case / "case.json").exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        names = inputs_of(case, folder)
        done = subprocess.run([BUILD / "bin/traceagent", "merge", *names, "-o", "out/merged.json", *wanted.get("arguments", [])],
                              cwd=(folder / "out").mkdir() or folder, capture_output=True, text=True, timeout=60)
        problems = compare(case / "expected.txt", done.stdout + done.stderr)
        if done.returncode != wanted.get("exit", 0):
            problems.append(f"exit status {done.returncode}")
        output = folder / "out/merged.json"
        problems += compare(case / "expected.json", output.read_text() if output.exists() else "")
        if output.exists() and not wanted.get("aligned") and "--steps" not in wanted.get("arguments", []):
            problems += truth(folder, names, output)
        left = sorted(path.name for path in (folder / "out").iterdir() if path != output)
        return problems + [f"left behind: {name}" for name in left]


failed = False
for each in sorted(path for path in (HERE / "merge").iterdir() if path.is_dir()):
    found = problems_of(each)
    failed = failed or bool(found)
    print(each.name, "differs" if found else "as committed")
    print(*found, sep="\n", end="\n" if found else "")
sys.exit(1 if failed else 0)
