"""Where a process test finds things; every test gets BUILD_FOLDER and DEPS_FOLDER first."""

import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
DEPS = pathlib.Path(sys.argv[2]).resolve()
ARGUMENTS = sys.argv[3:]
VENV = DEPS.parent / "venv"
VIEWER = DEPS.parent / "viewer"
LIBRARY = BUILD / "lib/libtraceagent.so"


def skip(reason):
    print(f"skipped: {reason}: run packaging/setup --tests")
    sys.exit(77)


def need(path, what):
    if not pathlib.Path(path).exists():
        skip(f"{what} is not here")
    return path
