#!/usr/bin/env python3
"""Jobs whose files are uploaded and removed while they run: what is told where uploads fail, and what is left out
where the server stays away.

usage: cycles_test.py BUILD DEPS [TEST...]"""
import fcntl
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import jobs  # noqa: E402
from disk_looks import DiskLooks  # noqa: E402
from jobs import STEADY, Checks, calls_in, end_of, steps_in, wait_until  # noqa: E402
from places import SLOWDOWN  # noqa: E402
from servers import S3Server  # noqa: E402
from turns import Job  # noqa: E402

checks = Checks()
check = checks.check
jobs.TIMEOUT = 180 * SLOWDOWN  # longer than upload.wait
NAME = re.compile(r"ep0-ba\d+-rank(\d+)\.json")


def schedule(cycles):
    return {"TRACEAGENT_SCHEDULE": f"wait=1,warmup=1,active=2,repeat={cycles}", "TRACEAGENT_OUTPUT_FOLDER": "out",
            "TRACEAGENT_UPLOAD_WAIT": "100s"}


def cycles_of(trace):
    return len(steps_in(trace)) // 2


def names(place):
    return sorted(path.name for path in (place.path / "out").iterdir()
                  if path.is_file() and not path.name.startswith("."))


def run_ranks(place, count, steps, pause_us, **more):
    ranks = [place.start([STEADY, steps, 5, pause_us], variables) for variables in place.ranks(count, **more)]
    return [end_of(rank) for rank in ranks]


def test_keep_without_remote():
    for keep, left in ((2, 2), (0, 0)):
        with Job() as place:
            ends = run_ranks(place, 2, 40, 5000, **schedule(6) | {"TRACEAGENT_OUTPUT_KEEP": keep})
            check(all(end.code == 3 and not end.own_err() for end in ends), f"keep {keep}: {ends}")
            files = [name for name in names(place) if NAME.fullmatch(name)]
            check(len(files) == 2 * left, f"keep {keep}: {files}")
            node = place.trace("out/node0.json")
            check(cycles_of(node) == 2 * max(keep, 1), f"keep {keep}: {cycles_of(node)} cycles in the node's file")
            check({event["pid"] for event in calls_in(node)} == {0, 1}, f"keep {keep}: both ranks")
            check(place.left_in_memory() == [], f"keep {keep}: {place.left_in_memory()}")


def test_folder_and_command():
    with Job() as place:
        there, keep = place.path / "there", {"TRACEAGENT_OUTPUT_KEEP": 0, "PATH": "/usr/bin:/bin"}
        ends = run_ranks(place, 2, 40, 5000, **schedule(6) | keep | {
            "TRACEAGENT_OUTPUT_REMOTE": f"{there}/{{run_name}}/", "LD_LIBRARY_PATH": jobs.variables_of()["LD_LIBRARY_PATH"],
            "TRACEAGENT_OUTPUT_MERGED_REMOTE": f"exec:cp {{}} '{place.path}/all of it.json'"})
        check(all(end.code == 3 and not end.own_err() for end in ends), f"folder: {ends}")
        check(not any(end.lines()[1:] for end in ends), f"folder: {ends}")
        check(len(list((there / "job").iterdir())) == 12, f"folder: {sorted((there / 'job').iterdir())}")
        check(wait_until(lambda: names(place) == ["node0.json"]), f"folder: nothing else stays: {names(place)}")
        node = place.trace("out/node0.json")
        check((place.path / "all of it.json").read_bytes() == (place.path / "out/node0.json").read_bytes(),
              "command: the node's file")
        # Its other words may be a password.
        text = (place.path / "out/node0.json").read_text()
        check('"exec:cp ..."' in text and "all of it" not in text, "command: the trace tells the command's first word alone")
        check(cycles_of(node) >= 2, "folder: the last cycle is in the node's file")


PRIORITIES = """import ctypes, os, sys
ioprio_get = 252 if os.uname().machine == "x86_64" else 31
try:
    session = open("/proc/self/autogroup").read().split()[-1]
except OSError:
    session = "19"  # a kernel without
print(os.sched_getscheduler(0), os.nice(0), ctypes.CDLL(None).syscall(ioprio_get, 1, 0), session, file=open(sys.argv[1], "w"))
"""


def test_it_gives_way_to_the_job():
    """What the uploader starts has its priorities."""
    with Job() as place:
        (place.path / "priorities.py").write_text(PRIORITIES)
        ends = run_ranks(place, 1, 20, 5000, **schedule(2) | {
            "TRACEAGENT_OUTPUT_REMOTE": f"exec:{sys.executable} {place.path}/priorities.py {place.path}/seen {{}}"})
        check(ends[0].code == 3 and not ends[0].lines()[1:], f"priorities: {ends}")
        seen = (place.path / "seen").read_text().split()
        check(seen == [str(os.SCHED_BATCH), "19", str(2 << 13 | 7), "19"], f"priorities: {seen}")


def not_queued(place):
    entries = json.loads((place.path / "out/index/index.json").read_text())["entries"]
    return sorted(entry["not_queued"] for entry in entries if "not_queued" in entry)


def test_what_cannot_be_queued_is_told():
    """By each process, all of its files: the journal's folder is a file."""
    with Job() as place:
        (place.path / "out").mkdir()
        (place.path / "out/.traceagent-upload").write_text("")
        there = place.path / "there"
        ends = run_ranks(place, 2, 40, 5000, **schedule(6) | {
            "TRACEAGENT_OUTPUT_REMOTE": f"{there}/", "TRACEAGENT_OUTPUT_MERGED_REMOTE": f"{there}/"})
        lines = [line for end in ends for line in end.lines() if "not queued" in line]
        check(all(end.code == 3 for end in ends) and not there.exists(), f"not queued: {ends}")
        check(sum("tried again" in line for line in lines) == 1, f"not queued: said at once: {lines}")
        said = sorted(re.search(r"and (\d+) more files of rank (\d)", line).groups() for line in lines
                      if "more files" in line)
        check(said in ([("5", "1"), ("6", "0")], [("5", "0"), ("6", "1")]), f"not queued: {lines}")
        check(not_queued(place) == names(place), f"not queued: {not_queued(place)} of {names(place)}")


def test_a_full_disk_is_told_once():
    """Neither the queue nor the index takes anything: each process still says how many of its files are in
    neither, before it says so of the index."""
    with Job() as place:
        (place.path / "out").mkdir()
        (place.path / "out/.traceagent-upload").write_text("")
        (place.path / "out/index").write_text("")
        ends = run_ranks(place, 2, 40, 5000, **schedule(6) | {
            "TRACEAGENT_OUTPUT_REMOTE": f"{place.path}/there/", "TRACEAGENT_OUTPUT_OVERWRITE": "true"})
        check(all(end.code == 3 for end in ends), f"full: {ends}")
        for end in ends:
            said = ["more files" if "and 5 more files of rank" in line else "index"
                    for line in end.lines() if "index: " in line or "more files" in line]
            check(said.count("more files") == 1 and len(said) <= 3, f"full: {end}")


def blocked(place, **more):
    """A rank whose files find no room in the queue; when two of them are there."""
    (place.path / "out").mkdir()
    (place.path / "out/.traceagent-upload").write_text("")
    variables = place.ranks(1, **schedule(6) | {"TRACEAGENT_OUTPUT_REMOTE": f"{place.path}/there/"} | more)[0]
    running = place.start([STEADY, 100, 5, 20_000], variables)
    seen = wait_until(lambda: sum(bool(NAME.fullmatch(name)) for name in names(place)) == 6)
    check(seen, f"blocked: {names(place)}")
    return running


def test_it_is_queued_before_the_run_ends():
    """No later file takes the others along. Behind the record of the run's end nobody would let them go."""
    with Job() as place:
        running = blocked(place, TRACEAGENT_OUTPUT_KEEP=0)
        (place.path / "out/.traceagent-upload").unlink()
        end = end_of(running)
        check(end.code == 3, f"before the end: {end}")
        check(wait_until(lambda: names(place) == ["node0.json"]), f"before the end: {names(place)}: {end}")
        check(len(list((place.path / "there").iterdir())) == 6, f"before the end: {end}")


def test_what_waits_survives_a_kill():
    with Job() as place:
        running = blocked(place)
        running.kill()
        end_of(running)
        refused = place.run([jobs.TRACEAGENT, "recover", "--keep", place.rings], jobs.variables_of())
        # The sixth may have been there, and not in the list of those that wait.
        check(re.search("and 5 more files: it is not queued|and 4 more files: (.*\n)*.*ba24.*: it is not queued", refused.err),
              f"killed: {refused}")
        check(not_queued(place)[:6] == names(place)[:6], f"killed: {not_queued(place)} of {names(place)}")
        (place.path / "out/.traceagent-upload").unlink()
        done = place.run([jobs.TRACEAGENT, "recover", place.rings], jobs.variables_of())
        resumed = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"], jobs.variables_of())
        there = sorted(path.name for path in (place.path / "there").iterdir())
        check(there == [name for name in names(place) if name != "node0.json"] and len(there) == 6,
              f"killed: {there}: {done}: {resumed}")


def test_what_could_not_be_queued_is_queued_later():
    with Job() as place:
        (place.path / "out").mkdir()
        (place.path / "out/.traceagent-upload").write_text("")
        there = place.path / "there"
        variables = place.ranks(1, **schedule(6) | {
            "TRACEAGENT_OUTPUT_REMOTE": f"{there}/", "TRACEAGENT_OUTPUT_MERGED_REMOTE": f"{there}/"})[0]
        running = place.start([STEADY, 40, 5, 40_000], variables)
        # Of the first it is known by the time that there is a second.
        seen = wait_until(lambda: sum(bool(NAME.fullmatch(name)) for name in names(place)) > 1)
        (place.path / "out/.traceagent-upload").unlink()
        end = end_of(running)
        lines = [line for line in end.lines() if "not queued" in line]
        check(seen and end.code == 3 and ["tried again" in line for line in lines] == [True], f"queued later: {end}")
        check(sorted(path.name for path in there.iterdir()) == names(place) and len(names(place)) == 7,
              f"queued later: {names(place)}")
        check(not_queued(place) == [], f"queued later: {not_queued(place)}")


def test_said_where_it_fails():
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        ends = run_ranks(place, 1, 20, 5000, **schedule(2) | server.variables(secret="wrong") | {
            "TRACEAGENT_OUTPUT_REMOTE": "s3://traces/", "TRACEAGENT_UPLOAD_WAIT": "8s"})
        said = " ".join(ends[0].lines())
        check(ends[0].code == 3 and "SignatureDoesNotMatch" in said and "traceagent upload --resume" in said, said)
        done = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"],
                         jobs.variables_of(**server.variables()))
        check(done.code == 0 and len(server.objects()) == 2, f"resumed: {done}")


QUEUE_BYTES = 100_000


def left_out(place):
    """By the index: of each rank its files."""
    entries = json.loads((place.path / "out/index/index.json").read_text())["entries"]
    return [entry["left_out"] for entry in entries if "left_out" in entry]


def started_with_a_full_queue(place, server):
    """Ranks while the server is away, so long that files have gone."""
    server.kill()
    variables = place.ranks(2, **schedule(40) | server.variables() | {
        "TRACEAGENT_OUTPUT_KEEP": 1, "TRACEAGENT_OUTPUT_REMOTE": "s3://traces/", "TRACEAGENT_UPLOAD_QUEUE": QUEUE_BYTES,
        "TRACEAGENT_UPLOAD_PATIENCE": "200ms", "TRACEAGENT_UPLOAD_WAIT": "1s"})
    return [place.start([STEADY, 180, 5, 10_000], each) for each in variables]


def check_full_queue(place, disk, ends, what):
    """What was left out: each is told once, by its rank, by the index and by the journal."""
    check(all(end.code == 3 and not end.own_err() for end in ends), f"{what}: {ends}")
    gone = left_out(place)
    lines = [line for end in ends for line in end.lines() if "upload.queue" in line and "were left out before" in line]
    told = sum(int(re.search(r": (\d+) files of rank", line)[1]) for line in lines)
    status = place.run([jobs.TRACEAGENT, "upload", "--status", place.path / "out"], jobs.variables_of())
    check(len(gone) > 2 and len(gone) == len(set(gone)) == told, f"{what}: {len(gone)} left out, {told} told: {lines}")
    check(f"{len(gone)} left out (upload.queue, --forget, another run's or cycle's file, no file)" in status.out, f"{what}: {status}")
    at_once = [line for end in ends for line in end.lines() if "the oldest are left out, from this one on" in line]
    check(len(at_once) == 1, f"{what}: said at once: {at_once}")
    # What is kept and what waits; the newest; and those that went while they were counted, or stay until the next
    # file, because another process was removing some just then.
    check(disk.bytes <= QUEUE_BYTES + 4 * disk.largest(), f"{what}: {disk}, of {disk.largest()} bytes")
    # Of these the newest is queued before the oldest is left out. Nothing puts that off here: nobody merges while ranks
    # record, and who removes keeps out no other rank.
    check(disk.waiting_bytes <= QUEUE_BYTES + disk.largest() and disk.looks > 0 and not disk.problems, f"{what}: {disk}")
    print(f"{what}: {disk}, of at most {disk.largest()} bytes")
    return set(gone)


def test_a_full_queue():
    """The server is away until the ranks have ended. The newest are there, and arrive."""
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        disk = DiskLooks(place, 2)
        ranks = started_with_a_full_queue(place, server)
        disk.start()
        ends = [end_of(rank) for rank in ranks]
        disk.end()
        gone = check_full_queue(place, disk, ends, "full queue")
        here = {name for name in names(place) if NAME.fullmatch(name)}
        check(sum((place.path / "out" / name).stat().st_size for name in here) <= 2 * QUEUE_BYTES, f"full queue: {here}")
        batch = lambda name: int(re.search(r"ba(\d+)", name)[1])  # noqa: E731
        for rank in range(2):
            of_rank = [{batch(name) for name in files if name.endswith(f"-rank{rank}.json")} for files in (gone, here)]
            # But for what was just being tried when the rank came to it: an uploader of this patience tries two, and a
            # rank that loses its core between them meets both.
            check(sum(one < max(of_rank[0]) for one in of_rank[1]) <= 2, f"full queue: the oldest go: {of_rank}")
        check(len(gone) + len(here) == 80 and not gone & here, f"full queue: {len(gone)} gone, {len(here)} here")
        server.start()
        done = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"],
                         jobs.variables_of(**server.variables()))
        check(done.code == 0 and set(server.objects()) == here, f"full queue: resumed: {done}")
        check(len(server.requests("PUT", 200)) == len(here), "full queue: each is sent once")


def test_a_full_queue_beside_one_that_stands_still():
    """Another rank was preempted when it was about to remove a file, and does not get the CPU back."""
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        uploads = place.path / "out/.traceagent-upload"
        uploads.mkdir(mode=0o700, parents=True)
        with open(os.open(uploads / "keep.lock", os.O_RDWR | os.O_CREAT, 0o600), "rb+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX, 1, 1 + 5)  # rank 5's: see removal_lock()
            disk = DiskLooks(place, 2)
            ranks = started_with_a_full_queue(place, server)
            disk.start()
            ends = [end_of(rank) for rank in ranks]
            disk.end()
        check_full_queue(place, disk, ends, "beside one that stands still")


def test_a_full_queue_empties():
    """The server comes back while the ranks go on: a file is left out, or arrives once."""
    with Job() as place, tempfile.TemporaryDirectory() as folder, S3Server(folder) as server:
        disk = DiskLooks(place, 2)
        ranks = started_with_a_full_queue(place, server)
        disk.start()
        full = wait_until(lambda: (place.path / "out/index/index.json").exists() and len(left_out(place)) > 2)
        server.start()
        ends = [end_of(rank) for rank in ranks]
        disk.end()
        gone = check_full_queue(place, disk, ends, "emptied queue")
        # On a busy machine the last files may have met the server before it was there.
        done = place.run([jobs.TRACEAGENT, "upload", "--resume", place.path / "out"],
                         jobs.variables_of(**server.variables()))
        check(done.code == 0, f"emptied queue: {done}")
        there = set(server.objects())
        check(full and len(gone) + len(there) == 80 and not gone & there, f"emptied queue: {len(gone)} gone, {len(there)} there")
        check(len(server.requests("PUT", 200)) == len(there), "emptied queue: each is sent once")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
