#!/usr/bin/env python3
"""Each program of the build is in the table of what runs under valgrind, or there is a reason why not; and `run`
can make a case of each line.

usage: table_test.py BUILD_FOLDER"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "transparency")]

# The path above comes first: what is imported here lies there.
import programs  # noqa: E402


def is_known(path):
    if programs.reason_not_to(path.name):
        return True
    if path.is_dir():  # a library under a name that another has too: a line names its folder
        return any(f"/programs/{path.name}:" in line for line in programs.lines())
    return path.name in {programs.parts_of(line)[1] for line in programs.lines()}


def main():
    built = [path for path in sorted((pathlib.Path(sys.argv[1]) / "programs").iterdir()) if path.suffix != ".so"]
    missing = [path.name for path in built if not is_known(path)]
    for name in missing:
        print(f"{name}: neither a line of tests/valgrind/programs.py nor in its CANNOT")
    listed = subprocess.run([HERE / "run", sys.argv[1], "--list"], capture_output=True, text=True, timeout=100, check=False)
    if listed.returncode != 0 or any(line not in listed.stdout for line in programs.lines()):
        missing.append("run --list")
        print(f"run --list: {listed}")
    print(f"{len(built)} programs, {len(missing)} missing")
    return 1 if missing or not built else 0


if __name__ == "__main__":
    sys.exit(main())
