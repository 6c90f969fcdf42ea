"""The project's own files: what git tracks, or everything outside the build folders without git."""

import pathlib
import re
import subprocess
import sys


def usage():
    """What the script that runs says of itself."""
    text = sys.modules["__main__"].__doc__
    return text if "usage:" in text else f"{text}\n\nusage: {pathlib.Path(sys.argv[0]).name}"


if {"-h", "--help"} & set(sys.argv[1:]):
    print(usage().strip())
    sys.exit()

ROOT = pathlib.Path(__file__).resolve().parents[3]
CPP = {".cpp", ".hpp", ".h", ".cu", ".c"}


def names_in_git():
    try:
        listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return listing.stdout.split("\0")


def names_on_disk():
    left_out = re.compile(r"build(-[^/]*)?/|\.git/|(.*/)?__pycache__/")
    names = (str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file())
    return [name for name in names if not left_out.match(name)]


def tracked_files(suffixes=None):
    """Paths relative to ROOT, sorted; deleted but still tracked ones are left out."""
    names = names_in_git() or names_on_disk()
    paths = sorted(pathlib.Path(n) for n in names if n)
    return [p for p in paths if (ROOT / p).is_file() and (suffixes is None or p.suffix in suffixes)]


def report(problems, checked, what):
    """Prints the problems, one a line, and a last line; returns the exit code."""
    for problem in problems:
        print(problem)
    print(f"{checked} {what} checked, {len(problems)} problems")
    return 1 if problems or not checked else 0
