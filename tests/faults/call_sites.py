"""The call instructions of a built object that can fail, as places of the matrix, and which of them no run reached."""

import collections
import re
import subprocess

from fault_places import NO_PLACE, Names
from fault_table import functions

# A call's place is where it returns to: the next instruction. A jump has none of its own.
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:.*<(\w+)@plt>)?")


def call_sites(path):
    """{(function, offset)}; those of memory and of what is registered for the end are left aside."""
    wanted = {function.name for function in functions() if function.actions and not function.is_memory}
    wanted = wanted - {"__cxa_atexit"} | {"syscall"}
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True,
                             timeout=120, check=True).stdout
    sites, called = set(), None
    for line in listing.splitlines():
        instruction = INSTRUCTION.match(line)
        if not instruction:
            continue
        if called:
            sites.add((called, int(instruction[1], 16)))
        called = instruction[3] if instruction[2] == "call" and instruction[3] in wanted else None
    return sites


def show_unreached(path, reached):
    """reached: (function, offset) of each place that a run called. Rows: whose calls they are, and how many."""
    offsets = {offset for _, offset in reached if offset != NO_PLACE}
    sites, names = call_sites(path), Names(path)
    never = collections.Counter((names.of(offset), name) for name, offset in sites if offset not in offsets)
    print(f"{path.name}: {len(sites) - never.total()} of {len(sites)} call instructions reached; not:")
    for (where, name), count in sorted(never.items()):
        print(f"  {where:60} {name}{f' x {count}' if count > 1 else ''}")
