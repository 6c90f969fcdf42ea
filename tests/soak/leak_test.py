#!/usr/bin/env python3
"""A rank that leaks is found by the survivor's memory outside the ring; soak.short shows that one that does not is not.

usage: leak_test.py BUILD DEPS"""

import concurrent.futures
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "process"))

# The path above comes first: what is imported here lies there.
from jobs import Checks  # noqa: E402
from places import LIBRARY, need  # noqa: E402
from ranks import PROGRAM  # noqa: E402
from soak import SHORT, Load, budget_off, own_places  # noqa: E402
from survivor import Survivor  # noqa: E402

TURNS = 3
LIMIT_S = 90
LEAK_BYTES = 256 << 10  # per step of 20 ms: more than is allowed, also where the machine makes a tenth of the steps


def survive(leak_bytes):
    """A survivor that lived for some turns of measured memory."""
    load = Load(**SHORT, budget=budget_off(), leak_bytes=leak_bytes)
    with tempfile.TemporaryDirectory(prefix="traceagent-soak-") as folder, \
            tempfile.TemporaryDirectory(prefix="traceagent-soak-", dir="/dev/shm") as rings:
        survivor = Survivor(0, random.Random(1), load, *own_places("survivor", pathlib.Path(folder), pathlib.Path(rings)))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            living = pool.submit(survivor.run, lambda _: None)
            deadline = time.monotonic() + LIMIT_S
            while survivor.turns_measured() < TURNS and not living.done() and time.monotonic() < deadline:
                time.sleep(0.2)
            survivor.may_end()
            return living.result()


def main():
    need(LIBRARY, "the library")
    need(PROGRAM, "the program")
    checks = Checks()
    problems = survive(LEAK_BYTES).account.problems
    checks.check(any("memory outside the ring is not flat" in words for words in problems), f"it is found: {problems}")
    checks.check(all("memory" in words or "peak" in words for words in problems), f"and nothing else: {problems}")
    sys.exit(checks.end())


if __name__ == "__main__":
    main()
