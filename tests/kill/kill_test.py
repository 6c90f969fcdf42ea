#!/usr/bin/env python3
"""Kills what the agent and its tools do, again and again, and looks for every event that was published.

usage: kill_test.py BUILD DEPS [CASE...] [--kills N] [--seed S] [--all]
N kills of each case, by chance; --all: besides, or instead where a case only does that, one at each point of each
phase. Cases: see README.md"""

import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "process"), str(HERE.parent / "faults")]

# The paths above come first: what is imported here lies there.
import cases_of_a_process as process  # noqa: E402
import cases_of_ranks as ranks  # noqa: E402
import cases_of_tools as tools  # noqa: E402
import cases_of_uploads as uploads  # noqa: E402
from places import ARGUMENTS, BUILD, LIBRARY, need  # noqa: E402
from table import Plan, Table  # noqa: E402

CASES = {"calls": process.calls, "gzip": process.gzip, "moments": process.moments,
         "coarse_clock": process.coarse_clock, "threads": process.threads, "full": process.full,
         "overwrite": process.overwrite, "overwrite_gapless": process.overwrite_gapless, "signals": process.signals,
         "rank": ranks.rank, "all_ranks": ranks.all_ranks, "older_run": ranks.older_run,
         "merge_again": ranks.merge_again, "counters": ranks.counters, "keeper": ranks.keeper,
         "remote": uploads.remote, "recover": tools.recover, "merge": tools.merge, "merge_gzip": tools.merge_gzip}


def main():
    need(LIBRARY, "the library")
    need(BUILD / "programs/libfaults.so", "libfaults.so")
    words = dict(zip(ARGUMENTS, [*ARGUMENTS[1:], ""]))
    count, seed = int(words.get("--kills", 12)), int(words.get("--seed", random.randrange(10**6)))
    print(f"seed {seed}", flush=True)
    problems = kills = 0
    for name in [name for name in CASES if name in ARGUMENTS] or CASES:
        table, started = Table(), time.monotonic()
        CASES[name](table, Plan(count, random.Random(seed), "--all" in ARGUMENTS))
        table.check(name, table.kills() >= count / 2, f"only {table.kills()} kills, {count} were to be: nothing is proved")
        if "--all" in ARGUMENTS:
            table.check_reach(0.8)
        table.print(missing=10 if "--all" in ARGUMENTS else 0)
        print(*table.problems[:20], sep="\n")
        print(f"{name}: {table.kills()} kills, {len(table.problems)} problems, "
              f"{time.monotonic() - started:.1f} s", flush=True)
        problems, kills = problems + len(table.problems), kills + table.kills()
    print(f"{kills} kills, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
