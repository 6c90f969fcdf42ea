#!/usr/bin/env python3
"""The job's own process never has what uploads need: libcurl and all that comes with it are the uploader's.

usage: apart_test.py BUILD DEPS"""
import pathlib
import re
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import jobs  # noqa: E402
from jobs import PROGRAMS, STEADY, Checks, end_of, wait_until  # noqa: E402
from places import LIBRARY  # noqa: E402
from servers import S3Server  # noqa: E402
from turns import Job  # noqa: E402

checks = Checks()
check = checks.check


def libraries_in(maps):
    """Those that are mapped, by their files' names."""
    return {pathlib.Path(path).name for path in re.findall(r"\s(/\S+\.so[.\d]*)(?: \(deleted\))?$", maps, re.MULTILINE)}


def libraries_of(pid):
    try:
        return libraries_in(pathlib.Path(f"/proc/{pid}/maps").read_text())
    except OSError:
        return set()


def uploaders(place):
    return [pid for pid in jobs.processes_naming(place.path)
            if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("traceagent-uplo")]


class Looks(threading.Thread):
    """At what a process has mapped, as long as it lives."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.seen, self.looks = process, set(), 0
        self.start()

    def run(self):
        while self.process.poll() is None:
            self.seen |= libraries_of(self.process.pid)
            self.looks += 1
            threading.Event().wait(0.01)


def started(place, steps, **more):
    return place.start([STEADY, steps, 5, 10_000], place.ranks(1, **{
        "LD_PRELOAD": f"{LIBRARY} {PROGRAMS}/libmaps_at_end.so", "MAPS_AT_END": place.path / "maps",
        "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=6", "TRACEAGENT_OUTPUT_FOLDER": "out"} | more)[0])


def at_end(place):
    return libraries_in((place.path / "maps").read_text())


def test_the_jobs_process_has_no_library_of_the_uploader():
    with Job() as place:
        end = end_of(started(place, 40))
        check(end.code == 3 and LIBRARY.name in at_end(place), f"without uploads: {end}")
        usual = at_end(place)
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        server.kill()
        job = started(place, 40, **server.variables() | {
            "TRACEAGENT_OUTPUT_KEEP": 1, "TRACEAGENT_UPLOAD_WAIT": "100s", "TRACEAGENT_OUTPUT_REMOTE": "s3://traces/",
            "TRACEAGENT_OUTPUT_MERGED_REMOTE": "s3://traces/"})
        looks = Looks(job)
        # It tries in vain meanwhile.
        libraries = lambda: set().union(*map(libraries_of, uploaders(place)))  # noqa: E731
        check(wait_until(lambda: any(name.startswith("libcurl") for name in libraries())), "the uploader has libcurl")
        of_uploads = libraries() - usual
        server.start()
        end = end_of(job)
        looks.join()
        check(end.code == 3 and not end.own_err() and len(server.objects()) == 7, f"all is uploaded: {end}")
        check(any(name.startswith("libcrypto") for name in of_uploads), f"the uploader's libraries: {of_uploads}")
        check(not at_end(place) & of_uploads and LIBRARY.name in at_end(place), f"after the uploads: {at_end(place) - usual}")
        check(not looks.seen & of_uploads and looks.looks > 10 and LIBRARY.name in looks.seen,
              f"in {looks.looks} looks: {looks.seen - usual}")
        print(f"{len(of_uploads)} libraries of the uploader, none of them in the job: {looks.looks} looks")


test_the_jobs_process_has_no_library_of_the_uploader()
sys.exit(checks.end())
