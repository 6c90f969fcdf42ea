#!/usr/bin/env python3
"""upload.wait: the program's end waits while somebody is at work on the uploads, whoever is killed over them, and not
for what nobody does.

usage: upload_wait_test.py BUILD DEPS [TEST...]"""
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import jobs  # noqa: E402
from jobs import STEADY, Checks, end_of, wait_until  # noqa: E402
from places import SLOWDOWN  # noqa: E402
from servers import S3Server  # noqa: E402
from turns import Job  # noqa: E402

checks = Checks()
check = checks.check
LONG_S = 150  # a wait that nobody should see the end of
jobs.TIMEOUT = 2 * LONG_S * SLOWDOWN


def started(place, **more):
    return place.start([STEADY, 20, 5, 5000], place.ranks(1, **{
        "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=2", "TRACEAGENT_OUTPUT_FOLDER": "out",
        "TRACEAGENT_UPLOAD_WAIT": f"{LONG_S * SLOWDOWN}s"} | more)[0])


def test_not_for_what_is_refused():
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        began = time.monotonic()
        end = end_of(started(place, TRACEAGENT_OUTPUT_REMOTE="s3://traces/", **server.variables(secret="wrong")))
        took_s = time.monotonic() - began
        said = " ".join(end.lines())
        check(end.code == 3 and "SignatureDoesNotMatch" in said and "2 files wait" in said, f"refused: {end}")
        check(took_s < LONG_S * SLOWDOWN / 2, f"refused: it waited for {took_s:.0f} s")


def test_a_killed_uploader_has_a_successor():
    with Job() as place:
        there, hangs = place.path / "there", place.path / "hangs"
        there.mkdir()
        hangs.touch()
        script = place.path / "put"
        script.write_text(f'#!/bin/sh\ntouch {place.path}/begun\nwhile [ -e {hangs} ]; do sleep 0.1; done\ncp "$1" {there}\n')
        script.chmod(0o700)
        job = started(place, TRACEAGENT_OUTPUT_REMOTE=f"exec:{script}")
        check(wait_until(lambda: (place.path / "out/node0.json").exists() and (place.path / "begun").exists()),
              "killed: the job has ended but for its uploads")
        for pid in jobs.processes_naming(place.path / "out"):
            os.kill(pid, signal.SIGKILL)
        hangs.unlink()
        end = end_of(job)
        names = sorted(path.name for path in there.iterdir())
        check(end.code == 3 and len(names) == 2, f"killed: when the job has ended all is there: {names}: {end}")


def test_not_for_another_run():
    """Whose file waits in the same folder, for a place that is dead."""
    with Job() as place:
        dead = place.path / "dead"
        dead.write_text("no folder")
        names = {"TRACEAGENT_OUTPUT_FILENAME": "first-ba{batch}.json", "TRACEAGENT_OUTPUT_MERGED": "null"}
        end_of(started(place, TRACEAGENT_OUTPUT_REMOTE=f"{dead}/", TRACEAGENT_UPLOAD_WAIT="0s",
                       TRACEAGENT_UPLOAD_PATIENCE="1h", **names))
        began = time.monotonic()
        end = end_of(started(place, TRACEAGENT_OUTPUT_REMOTE=f"{place.path}/there/", TRACEAGENT_UPLOAD_PATIENCE="1h",
                             TRACEAGENT_OUTPUT_OVERWRITE="true"))
        took_s = time.monotonic() - began
        there = sorted(path.name for path in place.path.glob("there/*"))
        check(end.code == 3 and len(there) == 2, f"another run: its own are there: {there}: {end}")
        check(took_s < LONG_S * SLOWDOWN / 2, f"another run: it waited for {took_s:.0f} s")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
