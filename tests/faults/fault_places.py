#!/usr/bin/env python3
"""Which places of an object called what, as FAULTS_PLACES recorded it.

usage: fault_places.py PLACES OBJECT     prints function, offset, calls and the calling function"""

import bisect
import functools
import pathlib
import struct
import subprocess
import sys

from fault_table import functions

PLACE = struct.Struct("<4Q")
PLACE_COUNT = 8192
CALLS = PLACE_COUNT * PLACE.size + 256 * 8
# By the number above the offset, as in faults.cpp; 0: the library or the tool itself.
OBJECT_SHIFT = 40
LIBRARIES = {1: "libstdc++.so.6", 2: "libcurl.so.4"}
NO_PLACE = (1 << 48) - 1  # who called it by a jump


class Place:
    def __init__(self, function, offset, calls, hits):
        self.function, self.offset, self.calls, self.hits = function, offset, calls, hits

    def key(self):
        return self.function.name, self.offset

    def is_at(self, other):
        return self.key() == other.key()

    def rule(self, call, action, lasts=False):
        """In the form of FAULTS."""
        return f"{self.function.name}@{self.offset:x}#{call}{'+' if lasts else ''}={action}"


def read_places(path):
    data, rows = pathlib.Path(path).read_bytes(), functions()
    found = []
    for key, calls, hits, _ in PLACE.iter_unpack(data[:PLACE_COUNT * PLACE.size]):
        if key != 0:
            found.append(Place(rows[key >> 48], key & (1 << 48) - 1, calls, hits))
    return sorted(found, key=lambda place: (place.function.name, place.offset))


def count_of_calls(path):
    """All calls but those of MEMORY rows: what `*#N` counts."""
    return struct.unpack_from("<Q", pathlib.Path(path).read_bytes(), CALLS)[0]


class Names:
    """The object's own functions by offset; a place is at the end of a call, inside of one."""

    def __init__(self, path):
        lines = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True, text=True,
                               timeout=60, check=True).stdout.splitlines()
        code = [line.split(" ", 2) for line in lines]
        pairs = sorted((int(row[0], 16), row[2]) for row in code if row[1] in "tTwW")
        self._offsets, self._names = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def of(self, offset):
        if offset == NO_PLACE:
            return "by a jump"
        if offset >> OBJECT_SHIFT:
            return f"{LIBRARIES[offset >> OBJECT_SHIFT]} {offset & (1 << OBJECT_SHIFT) - 1:#x}"
        index = bisect.bisect_left(self._offsets, offset) - 1
        return short_name(self._names[index]) if index >= 0 else "?"


@functools.cache
def short_name(name):
    """Without arguments and templates' parameters: a table has no room for them."""
    depth, kept = 0, []
    for letter in name.replace("(anonymous namespace)::", "").replace("operator()", "call"):
        depth -= letter in ">)]"
        if depth <= 0 and letter not in ">)]":
            kept.append(letter if letter not in "<([" else "")
        depth += letter in "<(["
    return "".join(kept).replace("traceagent::", "").split(" const")[0].split(" [")[0].split(" ")[-1][:60] or name[:60]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    names = Names(sys.argv[2])
    for place in read_places(sys.argv[1]):
        print(f"{place.function.name:24} {place.offset:#8x} {place.calls:7} {place.hits:5}  {names.of(place.offset)}")
    print(f"{count_of_calls(sys.argv[1])} calls without those of memory and clocks")


if __name__ == "__main__":
    main()
