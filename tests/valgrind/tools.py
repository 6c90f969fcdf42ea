"""The command line's tools under valgrind, as their own tests start them: in a build folder like the other, but
for `traceagent`, which is a script that starts valgrind with it."""

import os
import pathlib
import shlex
import subprocess
import sys

import memcheck

TESTS = pathlib.Path(__file__).resolve().parents[1]
LIMIT_S = 1800


def build_under_valgrind(build, folder, logs):
    (folder / "bin").mkdir(parents=True)
    for place in ("", "bin"):
        for path in (build / place).iterdir():
            if str(path.relative_to(build)) not in ("bin", "bin/traceagent"):
                (folder / place / path.name).symlink_to(path)
    tool = folder / "bin/traceagent"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join([*memcheck.command(logs), str(build / "bin/traceagent")])} "$@"\n')
    tool.chmod(0o755)
    return folder


def problems_of(test, build, folder):
    """What is wrong, and how many processes valgrind looked at."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    words = [sys.executable, TESTS / test, build_under_valgrind(build, folder / "build", logs), build / "deps"]
    # Set, it gives the tests the time that they have under a sanitizer.
    done = subprocess.run([str(word) for word in words], env=os.environ | {"ASAN_OPTIONS": ""}, cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=LIMIT_S, check=False)
    found = memcheck.Found(done.returncode, [], [], sorted(logs.glob("*.xml")))
    problems = [memcheck.told(found, key) for key in found.errors] + found.unread
    if done.returncode != 0:
        problems.append(f"ends with {done.returncode}: {done.stdout[-600:]}")
    if not any(logs.iterdir()):
        problems.append("valgrind looked at no process")
    return problems, len(list(logs.iterdir()))
