#!/usr/bin/env python3
"""No std::bad_alloc can end the job: read from the built library. An exception that reaches a noexcept
function's edge is std::terminate; one that leaves a callback goes through the loader or CUDA. So no
call that may ask for memory stands where nothing catches it. What the matrix tries by running, at the
calls that a run happens to make, holds here for all of them, but for calls through pointers.

usage: escape_test.py BUILD_FOLDER DEPS_FOLDER"""

import collections
import re
import subprocess
import sys

import context  # noqa: F401
from places import LIBRARY, need
from unwind_tables import UnwindTables

ROOT = re.compile(r"operator new(\[\])?\(unsigned long(, std::align_val_t)?\)|"
                  r"std::__throw_bad_(alloc|array_new_length)")
# What they throw tells of an error in the program; locales and streams are libstdc++'s, made in its own
# memory.
OTHERS = re.compile(r"std::(__throw_|locale::|ios_base::)")
OURS = re.compile(r"(.* )?traceagent")
# Called by others, by address: the loader, libc, CUDA.
CALLBACK = re.compile(r"_FUN\(|_phdr_info")
HARMLESS = {
    "traceagent::drain::PublishedCalls::add": "the room was reserved",
}
LABEL = re.compile(r"([0-9a-f]{16}) <(.*)>:$")
CALL = re.compile(r"\s+([0-9a-f]+):\t(?:notrack )?(call|jmp|j\w+)\s+([0-9a-f]+) <(.*)>$")


class Code:
    """The calls of one function to another, found in the disassembly."""

    def __init__(self, path):
        self.tables = UnwindTables(path)
        self.names, self.calls = {}, []
        listing = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", str(path)], capture_output=True,
                                 text=True, timeout=120, check=True).stdout
        for line in listing.splitlines():
            if label := LABEL.match(line):
                self.names[int(label[1], 16)] = label[2]
            elif call := CALL.match(line):
                self.calls.append((int(call[1], 16), call[2] == "call", int(call[3], 16), call[4]))

    def name_of(self, frame):
        return self.names.get(frame.begin, hex(frame.begin))


def follow(code):
    """(calls at which an exception ends the process, functions that one may leave)."""
    callers, resumes = collections.defaultdict(list), collections.defaultdict(list)
    leaves, todo = {}, []
    for at, is_call, target, name in code.calls:
        frame = code.tables.frame_of(at)
        if frame is None:
            continue
        if name.startswith("_Unwind_Resume"):
            resumes[frame].append(at)
        callers[code.tables.frame_of(target)].append((frame, at, is_call, name, target))
        if ROOT.match(name):
            todo.append((frame, at, is_call, name))
    ends = {}
    while todo:
        frame, at, is_call, name = todo.pop()
        # What jumps to another function leaves its own.
        way = code.tables.way_out(frame, at) if is_call else "through"
        bad = [at] if way == "end" else []
        if way == "cleanup":
            bad = [place for place in resumes[frame] if code.tables.way_out(frame, place) == "end"]
        for place in bad:
            ends[frame, place] = name
        if way in ("end", "caught") or frame in leaves or OTHERS.match(code.name_of(frame)):
            continue
        leaves[frame] = name
        todo += [(caller, place, calls, code.name_of(frame))
                 for caller, place, calls, _, target in callers[frame]
                 if calls or target == frame.begin or caller is not frame]
    return ends, leaves


def main():
    need(LIBRARY, "libtraceagent.so")
    code = Code(LIBRARY)
    ends, leaves = follow(code)
    problems = set()
    for (frame, place), callee in ends.items():
        name = code.name_of(frame)
        if OURS.match(name) and not any(name.startswith(known) for known in HARMLESS):
            problems.add(f"{name}: calls {callee} at {place:#x}, and lets no exception out: catch it")
    problems |= {f"{code.name_of(frame)}: is called by others and may throw: {callee}"
                 for frame, callee in leaves.items() if CALLBACK.search(code.name_of(frame)) and
                 OURS.match(code.name_of(frame))}
    for problem in sorted(problems):
        print(f"FAILED: {problem[:400]}")
    print(f"{len(code.tables.frames)} functions, {len(leaves)} may run out of memory; {len(problems)} problems")
    return 1 if problems or len(leaves) < 100 else 0


sys.exit(main())
