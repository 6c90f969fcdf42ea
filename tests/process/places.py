"""Where a process test finds things; every test gets BUILD_FOLDER and DEPS_FOLDER first."""

import gc
import os
import pathlib
import sys

# Traces are read as millions of objects without a cycle among them: looking for one each 700 objects took a seventh
# of the interpreter's time in tests/run.
gc.set_threshold(100_000, 50, 50)


def usage():
    """What the script that runs says of itself."""
    text = sys.modules["__main__"].__doc__ or ""
    if "usage:" not in text:
        text += f"\n\nusage: {pathlib.Path(sys.argv[0]).name} BUILD_FOLDER DEPS_FOLDER [ARGUMENT ...]"
    return text.strip()


if {"-h", "--help"} & set(sys.argv[1:]):
    print(usage())
    sys.exit()
if len(sys.argv) < 3:
    sys.exit(usage())

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
DEPS = pathlib.Path(sys.argv[2]).resolve()
ARGUMENTS = sys.argv[3:]
VENV = DEPS.parent / "venv"
VIEWER = DEPS.parent / "viewer"
LIBRARY = BUILD / "lib/libtraceagent.so"
# Tests compare traces with what the program did, on machines of any speed and load: nothing may be left
# out for the sake of a budget, which has tests of its own.
NO_LIMIT = {"TRACEAGENT_BUDGET_OVERHEAD": "0"}
# As CMakeLists.txt starts the tests of such a build. Everything takes several times as long there, and
# without the dlsym door (agent/door/CMakeLists.txt) the calls of Python's ctypes are not seen.
SANITIZED = "ASAN_OPTIONS" in os.environ
SLOWDOWN = 4 if SANITIZED else 1


def skip(reason):
    print(f"skipped: {reason}: run packaging/setup --tests")
    sys.exit(77)


def need(path, what):
    if not pathlib.Path(path).exists():
        skip(f"{what} is not here")
    return path
