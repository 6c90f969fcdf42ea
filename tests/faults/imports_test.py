#!/usr/bin/env python3
"""Every function that the library and the tools import has its row in faults.def, and so has what the uploader's
libstdc++ and libcurl import from libc, since their calls fail there too: what is new must get its errors, and so its
cells in the matrix, or be named as one that cannot fail."""

import re
import subprocess
import sys

import context  # noqa: F401
from fault_places import LIBRARIES
from fault_table import functions, pure_names
from places import LIBRARY, need
from scenarios import MPIRUN, RUN, TOOL, UPLOADER

# Other names of the same functions, by compilers and headers that check more or know newer standards.
SAME = re.compile(r"^__isoc(99|23)_(?=[a-z])|^__(?=\w+_chk$)|_chk$")
# Objects that only compute: what they do, they do by libc, through libstdc++ or in the object itself.
CPLUSPLUS = re.compile(r"_Z|__cxa_|__gxx_personality|_Unwind_")


def output_of(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                          check=True).stdout


def imports(path):
    """(name, version or nothing)"""
    lines = output_of("nm", "-D", "--undefined-only", path).splitlines()
    return {tuple((line.split()[-1] + "@").replace("@@", "@").split("@")[:2]) for line in lines}


def of_libc(found):
    return {name for name, version in found if version.startswith("GLIBC_")}


def loaded_by(path):
    """File name of a library that the loader would take -> its path."""
    return dict(re.findall(r"(\S+) => (/\S+)", output_of("ldd", path)))


def wanted_rows():
    """[(object's name, the names that need rows)]"""
    for path in (LIBRARY, TOOL, RUN, MPIRUN, UPLOADER):
        found = imports(need(path, path.name))
        yield path.name, {name for name, _ in found if not CPLUSPLUS.match(name)} | of_libc(found)
    libraries = loaded_by(UPLOADER)
    for name in LIBRARIES.values():
        if name not in libraries:
            sys.exit(f"FAILED: {UPLOADER.name} is not linked to {name}: whose calls of libc are its own now?")
        yield name, of_libc(imports(libraries[name]))


def main():
    known = {function.name for function in functions()} | pure_names() | {"syscall"}
    bad = set()
    for owner, names in wanted_rows():
        print(f"{owner}: {len(names)} names")
        bad |= {f"{owner}: {name}" for name in names if name not in known and SAME.sub("", name) not in known}
    for line in sorted(bad):
        print(f"FAILED: {line}: has no row in tests/faults/faults.def")
    return 1 if bad else 0


sys.exit(main())
