#!/usr/bin/env python3
"""What uploads cost a job whose steps work: it and one without uploads take turns, first with a folder, then with an
S3 server on this machine, which never fails. By hand; the server is the one that README.md tells of, or our own.

usage: step_time.py BUILD DEPS [CYCLES [RANKS]]"""
import pathlib
import sys
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from servers import any_server  # noqa: E402
from turns import Job, TimedJob, by_turns, ratios_of  # noqa: E402

CYCLES = int(sys.argv[3]) if len(sys.argv) > 3 else 250
RANKS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
STEPS, STEP_US, TURN_STEPS = 4 * CYCLES + 20, 10_000, 40


def started(place, server, **more):
    """A file of each rank every four steps."""
    return TimedJob(place, STEPS, STEP_US, place.ranks(RANKS, **{
        "TRACEAGENT_SCHEDULE": f"wait=1,warmup=1,active=2,repeat={CYCLES}", "TRACEAGENT_UPLOAD_WAIT": "60s",
        "TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_OUTPUT_KEEP": 3,
        "TRACEAGENT_RUN_NAME": f"run-{uuid.uuid4().hex[:8]}"} | server.variables() | more))


def main():
    for where, remote in (("folder", "{}/there/"), ("s3", "s3://traces/{{run_name}}/")):
        with Job() as place, Job() as usual_place, tempfile.TemporaryDirectory() as folder, any_server(folder) as server:
            usual = started(usual_place, server)
            job = started(place, server, TRACEAGENT_OUTPUT_REMOTE=remote.format(place.path))
            turns = by_turns(usual, job, TURN_STEPS)
            for end in usual.ends() + job.ends():
                assert end.code == 3, f"{where}: {end}"
            print(f"{where}, {RANKS} ranks: {ratios_of(usual, job, turns)}")


main()
