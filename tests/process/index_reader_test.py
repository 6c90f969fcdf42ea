#!/usr/bin/env python3
"""The index of a node's run is read all the time while two ranks add to it and output.keep removes: each time it is
whole JSON, no entry that has been read goes away, and nothing is left beside it. A long one grows in place: who reads
it in that very moment reads once more."""
import json
import os
import sys
import time

from jobs import STEADY, TRACEAGENT, Checks, Place, end_of
from places import LIBRARY, need

checks = Checks()
check = checks.check
SECONDS = 12
END = b"\n]}\n"
LONGEST_COPIED = 64 << 10  # agent/trace/index_file.hpp
CYCLES = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1,repeat=0", "TRACEAGENT_OUTPUT_FOLDER": "out",
          "TRACEAGENT_OUTPUT_KEEP": 3, "TRACEAGENT_COUNTERS_SOURCES": "none"}


class Reader:
    """Reads it whole each time. What it has parsed before it only compares, so that it reads often."""

    def __init__(self, index):
        self._index, self._known = index, b""
        self.reads = self.entries = self.again = 0

    def look(self):
        """None, or the end of what is no JSON, or no longer has what was there."""
        torn = self._look_once()
        # Two ranks add a line every half a millisecond here, and who writes one may lose its core within it.
        for pause_s in (0, 0.001, 0.01, 0.1, 1):
            if torn is None or len(self._known) + len(END) < LONGEST_COPIED:
                return torn
            self.again += 1
            time.sleep(pause_s)
            torn = self._look_once()
        return torn

    def _look_once(self):
        text = self._index.read_bytes()
        if not text.startswith(self._known):
            return b"what was there is gone: " + text[:200]
        if not text.endswith(END):
            return text[-200:]
        if text == self._known + END:
            self.reads += 1
            return None
        at = len(self._known) or text.index(b"\n")
        head, new = text[:at], text[at:]
        try:
            self.entries += len(json.loads(b"[" + new.removesuffix(END).removeprefix(b",") + b"]"))
        except ValueError as problem:
            return str(problem).encode() + b": " + text[-2000:]
        check(self._known or json.loads(head + b"]}")["entries"] == [], f"the head: {head}")
        self._known = text.removesuffix(END)
        self.reads += 1
        return None

    def look_often(self, process):
        until = time.monotonic() + SECONDS
        torn = None
        while time.monotonic() < until and process.poll() is None and torn is None:
            try:
                torn = self.look()
            except FileNotFoundError:
                continue
        return torn


def main():
    need(LIBRARY, "the library")
    with Place() as place:
        ranks = [place.start([STEADY, 1_000_000, 2, 500], variables) for variables in place.ranks(2, **CYCLES)]
        index = place.path / "out/index/index.json"
        try:
            reader = Reader(index)
            torn = reader.look_often(ranks[0])
            print(f"{reader.reads} reads, {reader.again} once more, {reader.entries} entries")
            check(reader.again <= reader.reads // 100, f"once more {reader.again} times of {reader.reads}")
            check(torn is None, f"no JSON after {reader.reads} reads: it ends with {torn}")
            check(torn is not None or (reader.reads > 100 and reader.entries > 20), "too little was seen")
        finally:
            for rank in ranks:
                rank.kill()
                end_of(rank)
        os.chmod(index, 0o640)
        variables = {key: text for key, text in place.agent().items() if key != "LD_PRELOAD"}
        recovered = place.run([TRACEAGENT, "recover"], variables)
        check(recovered.code == 0, f"{recovered}")
        told = json.loads(index.read_bytes())["entries"]
        check(len(told) > reader.entries and any(entry.get("recovered") for entry in told),
              f"recover has not added to it: {told[-3:]}")
        check(os.stat(index).st_mode & 0o777 == 0o640, f"its mode was not kept: {os.stat(index).st_mode:o}")
        left = [name for name in os.listdir(index.parent) if name != index.name]
        check(not left, f"beside the index: {left}")
    return checks.end()


sys.exit(main())
