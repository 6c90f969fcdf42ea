#!/usr/bin/env python3
"""Every function that the library and the tool import has its row in faults.def: a system call that is
new there must get its errors, and so its cells in the matrix."""

import pathlib
import re
import subprocess
import sys

import context  # noqa: F401
from fault_table import functions, pure_names
from places import LIBRARY, need
from scenarios import TOOL, UPLOADER


def imports(path):
    done = subprocess.run(["nm", "-D", "--undefined-only", str(path)], capture_output=True, text=True,
                          timeout=60, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def system_calls():
    header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    return set(re.findall(r"__NR_(\w+)", header.read_text())) if header.exists() else set()


def main():
    known = {function.name for function in functions()} | pure_names() | {"syscall"}
    unknown = set()
    for path in (LIBRARY, TOOL, UPLOADER):
        need(path, path.name)
        found = imports(path)
        unknown |= {f"{path.name}: {name}: has no row in tests/faults/faults.def" for name in found - known}
        print(f"{path.name}: {len(found)} imports")
    called = system_calls()
    bad = 0
    for line in sorted(unknown):
        is_bad = line.split(": ")[1].removesuffix("64") in called
        bad += is_bad
        print(f"{'FAILED' if is_bad else 'not in the table'}: {line}")
    return 1 if bad else 0


sys.exit(main())
