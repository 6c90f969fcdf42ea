#!/usr/bin/env python3
"""What uploads cost a job whose steps work: the same number of steps without uploads, into a folder and to an S3
server on this machine, by turns. By hand; the server is the one that README.md tells of, or our own.

usage: step_time.py BUILD DEPS [ROUNDS [RANKS]]"""
import pathlib
import statistics
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from jobs import STEADY, Place, end_of  # noqa: E402
from servers import any_server  # noqa: E402

ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
RANKS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
CYCLES, STEP_US = 40, 5000


def ten_steps_ms(where, server, remote):
    """The median of ten steps' times of rank 0; a file of each rank every four steps."""
    with Place() as place:
        more = {"TRACEAGENT_SCHEDULE": f"wait=1,warmup=1,active=2,repeat={CYCLES}", "TRACEAGENT_UPLOAD_WAIT": "60s",
                "TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_OUTPUT_KEEP": 3,
                "TRACEAGENT_RUN_NAME": f"run-{uuid.uuid4().hex[:8]}"} | server.variables()
        if remote:
            more["TRACEAGENT_OUTPUT_REMOTE"] = remote.format(here=place.path)
        ranks = [place.start([STEADY, 4 * CYCLES + 20, 5, -STEP_US], variables)
                 for variables in place.ranks(RANKS, **more)]
        times, last = [], None
        for line in ranks[0].stdout:
            now = time.monotonic()
            if line.startswith("step "):
                times += [] if last is None else [(now - last) * 1000]
                last = now
        for rank in ranks:
            end = end_of(rank)
            assert end.code == 3, f"{where}: {end}"
        return statistics.median(times)


def main():
    ways = {"none": None, "folder": "{here}/there/", "s3": "s3://traces/{{run_name}}/"}
    found = {where: [] for where in ways}
    with tempfile.TemporaryDirectory() as folder, any_server(folder) as server:
        for number in range(ROUNDS):
            order = list(ways.items())
            for where, remote in order[number % 3:] + order[:number % 3]:
                found[where].append(ten_steps_ms(where, server, remote))
    for where, times in found.items():
        ratios = sorted(one / usual for one, usual in zip(times, found["none"]))
        print(f"{where}: ten steps {statistics.median(times):.2f} ms, ratio to none: median "
              f"{statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}, {RANKS} ranks")


main()
