#!/usr/bin/env python3
"""Another process keeps the run's index locked: the job's files are written meanwhile, and the index tells of
all of them in the end, also of a job that is killed before that."""
import fcntl
import json
import os
import signal
import sys

from jobs import STEADY, TRACEAGENT, Checks, Place, end_of, wait_until
from places import LIBRARY, need

checks = Checks()
check = checks.check
CYCLES = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=2,repeat=0", "TRACEAGENT_OUTPUT_FOLDER": "out"}


def until(condition, what):
    return check(wait_until(condition), what)


def rank_files(place):
    return {name.removeprefix("out/") for name in place.files()
            if "rank0" in name and name.endswith(".json")}


def saved(file):
    """By the descriptor that holds the lock: to close another of the file would give it up."""
    file.seek(0)
    return sorted(entry["saved"] for entry in json.loads(file.read())["entries"] if "saved" in entry)


def lock(path):
    """Whoever adds puts another file under the name: that must be the one that is locked."""
    while True:
        file = open(path, "r+")
        fcntl.lockf(file, fcntl.LOCK_EX)
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
        file.close()


def test(is_killed):
    what = "killed" if is_killed else "ends"
    with Place() as place:
        process = place.start([STEADY, 2000 if is_killed else 150, 10, 10_000], place.agent(**CYCLES))
        try:
            index = place.path / "out/index/index.json"
            until(index.exists, f"{what}: there is an index")
            with lock(index) as file:
                known = saved(file)
                until(lambda: len(rank_files(place)) > len(known) + 3, f"{what}: files are written")
                check(saved(file) == known, f"{what}: another wrote to a locked index")
                if is_killed:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
            ended = end_of(process)
        finally:
            process.kill()
            process.wait()
        if is_killed:
            variables = {key: text for key, text in place.agent().items() if key != "LD_PRELOAD"}
            ended = place.run([TRACEAGENT, "recover"], variables)
        check(ended.code == (0 if is_killed else 3) and "index" not in ended.err, f"{what}: {ended}")
        with open(index) as file:
            told = saved(file)
        check(told == sorted(rank_files(place)), f"{what}: in the index {told}, files {sorted(rank_files(place))}")


def main():
    need(LIBRARY, "the library")
    test(False)
    test(True)
    return checks.end()


sys.exit(main())
