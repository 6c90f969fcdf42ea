#!/usr/bin/env python3
"""What the loader sees of libtraceagent.so: what it needs, what it exports, how it was linked."""
import pathlib
import re
import subprocess
import sys

ALLOWED_NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
STREAM_OBJECTS = {f"_ZSt{len(name)}{name}" for name in "cin cout cerr clog wcin wcout wcerr wclog".split()}
# Global-dynamic TLS costs 6-9 ns a call and may call malloc inside a hook.
DYNAMIC_TLS = re.compile(r"R_X86_64_(DTPMOD64|DTPOFF64|TLSDESC)|R_AARCH64_(TLS_DTPMOD|TLSDESC)")


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed(library):
    return {m[1] for line in lines_of("readelf", "-dW", library)
            if (m := re.search(r"\(NEEDED\).*\[(.*)\]", line))}


def exported(library):
    """symbol, symbol@version or symbol@@version; a version node counts as a symbol of its name."""
    rows = lines_of("nm", "-D", "--defined-only", "--with-symbol-versions", library)
    return {row.split()[-1].replace("@@", "@") for row in rows}


def expected(table):
    rows = (line.strip() for line in table.read_text().splitlines())
    return {row.replace("@@", "@") for row in rows if row and not row.startswith("#")}


def problems_of(build):
    library = build / "lib/libtraceagent.so"
    extra = needed(library) - ALLOWED_NEEDED
    yield from (f"NEEDED {name}: a preloaded library must need libc alone" for name in sorted(extra))
    # They are never set up: agent/linking/no_stream_objects.c.
    names = {line.split()[-1] for line in lines_of("nm", library)}
    yield from (f"{name}: std::cout and its like may not be used here" for name in sorted(names & STREAM_OBJECTS))
    if any("TEXTREL" in line for line in lines_of("readelf", "-dW", library)):
        yield "TEXTREL: not all of it is position independent"
    for line in lines_of("readelf", "-rW", library):
        if DYNAMIC_TLS.search(line):
            yield f"dynamic TLS: {line.strip()}"
    here, table = exported(library), expected(build / "generated/exports.txt")
    yield from (f"exported but in no table: {name}" for name in sorted(here - table))
    yield from (f"in the table but not exported: {name}" for name in sorted(table - here))
    if not here:
        yield "nothing is exported"


def main():
    build = pathlib.Path(sys.argv[1])
    problems = list(problems_of(build))
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(exported(build / 'lib/libtraceagent.so'))} symbols exported, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
