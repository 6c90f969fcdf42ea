#!/usr/bin/env python3
"""Folders that are removed and made anew while an uploader is at work there, queues that it may not trust, and names
that no queue can hold.

usage: odd_queues_test.py BUILD DEPS [TEST...]"""
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import jobs  # noqa: E402
from jobs import STEADY, Checks, end_of, wait_until  # noqa: E402
from turns import Job  # noqa: E402
from uploading import Here  # noqa: E402

checks = Checks()
check = checks.check


def test_a_folder_that_is_made_anew_has_one_uploader():
    """An uploader waits for a dead server; its folder is removed, and the job is started again."""
    with Here() as here:
        here.server.kill()
        contents = {name: here.make(name) for name in ("a.json", "b.json")}
        old = here.start(here.files, "--to", "s3://traces/", "--patience", "1h")
        check(wait_until(lambda: list(here.files.glob(".traceagent-upload/*.problem"))), "anew: it waits")
        shutil.rmtree(here.files)
        here.files.mkdir()
        contents = {name: here.make(name) for name in ("a.json", "b.json")}
        new = here.start(here.files, "--to", "s3://traces/", "--patience", "1h")
        check(wait_until(lambda: list(here.files.glob(".traceagent-upload/*.problem"))), "anew: the new one waits")
        time.sleep(2)  # the old one has looked whether it may go on
        here.server.start()
        check(wait_until(lambda: new.poll() is not None and old.poll() is not None), "anew: both end")
        said = old.communicate()[0]
        check(old.returncode == 1 and "it was removed" in said, f"anew: the old one: {old.returncode} {said}")
        check(new.returncode == 0 and here.server.objects() == contents, f"anew: {new.communicate()[0]}")
        puts = here.server.requests("PUT", 200)
        check(len(puts) == 2, f"anew: each is sent once: {puts}")


def test_a_queue_that_others_may_write_is_told():
    """As on a file system that knows no owners. By the job itself: its uploader has no output."""
    with Job() as place:
        uploads = place.path / "out/.traceagent-upload"
        uploads.mkdir(parents=True)
        journal = uploads / f"{os.uname().nodename}.journal"
        journal.touch()
        journal.chmod(0o666)
        end = end_of(place.start([STEADY, 20, 5, 5000], place.agent(
            TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=2,repeat=2", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_OUTPUT_OVERWRITE="true", TRACEAGENT_OUTPUT_REMOTE=f"{place.path}/there/",
            TRACEAGENT_UPLOAD_WAIT="3s")))
        check(end.code == 3 and not (place.path / "there").exists(), f"others: {end}")
        check(any("others may write it, or it is not yours" in line for line in end.lines()), f"others: {end}")
        journal.chmod(0o600)
        done = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"], jobs.variables_of())
        check(done.code == 0 and len(list((place.path / "there").iterdir())) == 2, f"others: repaired: {done}")
        check(not list(uploads.glob("*.problem")), "others: the problem is gone")


def test_a_folder_that_is_used_again_while_files_wait():
    """The queue of a run whose target was dead, and the files of the next one, which has the names: they are not the
    first one's, and none of them goes."""
    with Job() as place:
        dead = place.path / "dead"
        dead.write_text("no folder")
        usual = {"TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=2", "TRACEAGENT_OUTPUT_FOLDER": "out"}
        first = end_of(place.start([STEADY, 20, 5, 5000], place.agent(
            TRACEAGENT_OUTPUT_REMOTE=f"{dead}/there/", TRACEAGENT_OUTPUT_KEEP="0", TRACEAGENT_UPLOAD_WAIT="3s",
            TRACEAGENT_UPLOAD_PATIENCE="0s", **usual)))
        check(first.code == 3, f"used again: the first: {first}")
        for path in [*(place.path / "out").glob("*.json"), *(place.path / "out/index").iterdir()]:
            path.unlink()
        end = end_of(place.start([STEADY, 20, 5, 5000], place.agent(**usual)))
        files = {path.name: path.read_bytes() for path in (place.path / "out").glob("*.json")}
        check(end.code == 3 and len(files) == 3, f"used again: the second: {end} {sorted(files)}")
        dead.unlink()
        done = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"], jobs.variables_of())
        check(done.out.count("another run's file has its name: left out") == 2, f"used again: resumed: {done}")
        check(not dead.exists(), "used again: something was sent")
        here = {path.name: path.read_bytes() for path in (place.path / "out").glob("*.json")}
        check(here == files, f"used again: some went: {sorted(here)}")
        status = place.run([jobs.TRACEAGENT, "upload", "--status", place.path / "out"], jobs.variables_of())
        check("0 uploaded, 0 waiting" in status.out and "2 left out" in status.out, f"used again: {status}")


NO_UTF8 = os.fsdecode(b"caf\xe9")


def test_names_that_are_no_text_by_hand():
    """Nothing is queued under another name, which nobody would find."""
    with Here() as here:
        here.make("a.json")
        here.make(f"{NO_UTF8}.json")
        done = here.run(here.files, "--to", f"{here.path}/there/")
        check(done.code == 2 and "caf\\xe9.json: its name is not UTF-8: rename it" in done.err, f"no text: {done}")
        done = here.run(here.files / "a.json", "--to", f"{here.path}/{NO_UTF8}/")
        check(done.code == 2 and "caf\\xe9/: it is not UTF-8: name another place" in done.err, f"no text: {done}")
        check(not (here.files / ".traceagent-upload").exists(), "no text: nothing is queued")


def test_names_that_are_no_text_in_a_job():
    """Of a place it is told; in a run's name they are replaced, and the files arrive."""
    with Job() as place:
        there = place.path / "there"
        end = end_of(place.start([STEADY, 20, 5, 5000], place.agent(
            TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=2,repeat=2", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_RUN_NAME=NO_UTF8, TRACEAGENT_OUTPUT_FILENAME="{run_name}-ba{batch}-rank{rank}.json",
            TRACEAGENT_OUTPUT_REMOTE=f"{there}/{{run_name}}/", TRACEAGENT_OUTPUT_MERGED_REMOTE=f"{there}/{NO_UTF8}/",
            TRACEAGENT_UPLOAD_WAIT="60s")))
        check(end.code == 3 and any("OUTPUT_MERGED_REMOTE" in line and "it is not UTF-8" in line for line in end.lines()),
              f"no text: {end}")
        arrived = sorted(os.fsencode(str(path.relative_to(there))) for path in there.glob("*/*"))
        check(arrived == [b"caf_/caf_-ba4-rank0.json", b"caf_/caf_-ba8-rank0.json"], f"no text: {arrived}: {end}")


def uploaders_of(place):
    found = []
    for pid in jobs.processes_naming(place.path):
        try:
            found += [pid] * (b"traceagent-upload" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            pass
    return found


def test_a_folder_without_locks_has_one_uploader():
    """Where the server is away: not one more of each rank with each cycle. Here no lock's file can be made."""
    with Job() as place:
        (place.path / f"out/.traceagent-upload/{os.uname().nodename}.lock").mkdir(parents=True)
        (place.path / "out/.traceagent-upload").chmod(0o700)
        dead, in_memory = place.path / "dead", set(pathlib.Path("/dev/shm").glob("traceagent-upload-*"))
        dead.write_text("no folder")
        ranks = [place.start([STEADY, 40, 5, 50000], each) for each in place.ranks(
            2, TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=2,repeat=0", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_OUTPUT_REMOTE=f"{dead}/", TRACEAGENT_UPLOAD_PATIENCE="1h")]
        lasting, before = 0, set()
        while any(rank.poll() is None for rank in ranks):
            now = set(uploaders_of(place))
            lasting, before = max(lasting, len(now & before)), now  # one that finds another at work ends at once
            time.sleep(0.5)
        for rank in ranks:
            end_of(rank)
        check(lasting == 1, f"no locks: {lasting} uploaders")
        dead.unlink()
        check(wait_until(lambda: not uploaders_of(place)), "no locks: it ends")
        check(len(list(dead.iterdir())) >= 8, f"no locks: all arrives: {list(dead.iterdir())}")
        stays = set(pathlib.Path("/dev/shm").glob("traceagent-upload-*")) - in_memory
        check(not stays, f"no locks: nothing stays in the memory: {stays}")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
