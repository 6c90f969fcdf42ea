#!/usr/bin/env python3
"""`traceagent upload` of files that go in parts: none is sent twice without need, none is left on the server."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from jobs import Checks  # noqa: E402
from uploading import MIB, Here, ended, wait_until  # noqa: E402

checks = Checks()
check = checks.check


def test_in_parts():
    with Here() as here:
        data = here.make("large.json", 23 * MIB + 17)
        done = here.run(here.files / "large.json", "--to", "s3://traces/x/", "--multipart-from", "8MiB",
                        "--part-size", "8MiB")
        check(done.code == 0, f"in parts: {done}")
        check(here.server.objects() == {"x/large.json": data}, "in parts: whole")
        check(not here.server.unjoined(), "in parts: nothing is left")


PARTS = ("--multipart-from", "8MiB", "--part-size", "5MiB")


def killed_between_parts(here):
    """An uploader, of which the server has some parts of a file. The file's contents."""
    data = here.make("large.json", 40 * MIB)
    here.server.behave("slow=30000000")
    first = here.start(here.files / "large.json", "--to", "s3://traces/x/", *PARTS)
    check(wait_until(lambda: len(here.server.requests("PUT", 200)) >= 3), "parts arrive")
    first.kill()
    first.communicate()
    here.server.behave("")
    here.server.kill()  # and the server starts again
    here.server.start()
    return data


def test_killed_between_parts():
    with Here() as here:
        data = killed_between_parts(here)
        done = here.run("--resume", here.files, *PARTS)
        check(done.code == 0 and here.server.objects() == {"x/large.json": data}, f"killed: {done}")
        sent = len(here.server.requests("PUT", 200))
        check(sent <= 10, f"killed: parts that were there are not sent again: {sent} for 8")
        check(not here.server.unjoined(), "killed: nothing is left")


def test_parts_of_another_size():
    with Here() as here:
        data = here.make("large.json", 40 * MIB)
        here.server.behave("slow=30000000")
        first = here.start(here.files / "large.json", "--to", "s3://traces/", "--multipart-from", "8MiB",
                           "--part-size", "8MiB")
        check(wait_until(lambda: len(here.server.requests("PUT", 200)) >= 2), "parts arrive")
        first.kill()
        first.communicate()
        here.server.behave("")
        done = here.run("--resume", here.files, "--multipart-from", "1GiB", "--part-size", "5MiB")
        check(done.code == 0 and here.server.objects() == {"large.json": data}, f"another size: {done}")
        sent = len(here.server.requests("PUT", 200))
        check(sent <= 6 and not here.server.unjoined(), f"another size: {sent} parts were sent, for 5")


def journal_of(here):
    return next(here.files.glob(".traceagent-upload/*.journal"))


def append(here, record):
    with open(journal_of(here), "a") as file:
        file.write("\n" + json.dumps(record) + "\n")


def leave_out(here, queued):
    """As its rank does when the queue is full."""
    append(here, {"gone": queued["queue"], "left_out": True})
    (here.files / "large.json").unlink()


def queue_again(here, queued):
    append(here, queued | {"queue": "again"})


def remove(here, _):
    (here.files / "large.json").unlink()


def test_parts_that_nobody_will_join():
    """Nobody sees them in the bucket, and all pay for them. Where the server is away when that is known, who resumes
    removes them."""
    for change, is_there in ((leave_out, False), (remove, False), (queue_again, True)):
        with Here() as here:
            data, what = killed_between_parts(here), change.__name__
            queued = next(json.loads(line) for line in journal_of(here).read_text().splitlines() if '"queue"' in line)
            change(here, queued)
            here.server.kill()
            done = here.run("--resume", here.files, *PARTS, "--patience", "1s")
            check(done.code == 1 and ("parts that nobody will join" in done.out) and here.server.unjoined(),
                  f"{what}, the server is away: {done}")
            status = here.run("--status", here.files)
            check(status.code == 1 and "waiting: parts that nobody will join: s3://traces/x/large.json" in status.out,
                  f"{what}: {status}")
            here.server.start()
            done = here.run("--resume", here.files, *PARTS)
            check(done.code == 0 and not here.server.unjoined(), f"{what}: {here.server.unjoined()}: {done}")
            check(here.server.objects() == ({"x/large.json": data} if is_there else {}), f"{what}: {done}")
            status = here.run("--status", here.files)
            check(status.code == 0 and "parts" not in status.out, f"{what}: {status}")


def test_parts_of_what_is_forgotten():
    """They go at once or, where the server is away, with the next upload: it is told."""
    for is_away in (False, True):
        with Here() as here:
            killed_between_parts(here)
            if is_away:
                here.server.kill()
            done = here.run(here.files, "--forget", "s3://traces/")
            check(done.code == is_away and " -> s3://traces/x/large.json: left out: the file stays\n" in done.out and
                  "parts that nobody will join: " in done.out, f"forgotten, away {is_away}: {done}")
            if is_away:
                status = here.run("--status", here.files)
                check(status.code == 1 and "waiting: parts that nobody will join" in status.out, f"forgotten: {status}")
                here.server.start()
                done = here.run("--resume", here.files)
            check(done.code == 0 and not here.server.unjoined() and not here.server.objects(),
                  f"forgotten, away {is_away}: {here.server.unjoined()}: {done}")
            status = here.run("--status", here.files)
            check(status.code == 0 and "problem" not in status.out, f"forgotten: {status}")
            check((here.files / "large.json").exists(), "forgotten: the file stays")


def test_parts_of_what_has_changed_since():
    """The server is away when they are of no use any more, and again when all else has arrived."""
    with Here() as here:
        killed_between_parts(here)
        data = here.make("large.json", 12 * MIB)
        here.server.behave("no_abort=1")
        done = here.run("--resume", here.files, *PARTS)
        check(done.code == 1 and "allow this key s3:AbortMultipartUpload" in done.out, f"changed: {done}")
        check(here.server.objects() == {"x/large.json": data} and len(here.server.unjoined()) == 1, f"changed: {done}")
        here.server.behave("")
        done = here.run("--resume", here.files, "--compact-from", "1")
        check(done.code == 0 and not here.server.unjoined(), f"changed: {here.server.unjoined()}: {done}")
        sent = len(here.server.requests("PUT", 200))
        here.run("--resume", here.files)
        check(len(here.server.requests("PUT", 200)) == sent, "changed: it is not sent again")


def test_parts_that_are_refused_as_a_whole():
    """Each that arrives again is no success: patience ends."""
    with Here() as here:
        data = here.make("large.json", 12 * MIB)
        here.server.behave("no_join=1")
        code, out = ended(here.start(here.files / "large.json", "--to", "s3://traces/", *PARTS, "--patience", "2s"))
        check(code == 1 and "InvalidPart" in out, f"refused as a whole: {code} {out[-1000:]}")
        check(not here.server.unjoined(), f"refused as a whole: {here.server.unjoined()}")
        here.server.behave("")
        done = here.run("--resume", here.files, *PARTS)
        check(done.code == 0 and here.server.objects() == {"large.json": data}, f"joined: {done}")


def test_a_join_whose_answer_is_lost():
    """It is there: no parts are left that a key which may not would have to remove."""
    with Here() as here:
        contents = here.make("a.json", 12 * MIB)
        here.server.behave("fail_joins=1 no_abort=1")
        done = here.run(here.files, "--to", "s3://traces/", "--multipart-from", "5MiB", "--part-size", "5MiB",
                        "--patience", "20s")
        check(done.code == 0 and here.server.objects() == {"a.json": contents}, f"lost join: {done}")
        status = here.run("--status", here.files)
        check(status.code == 0 and "nobody will join" not in status.out, f"lost join: {status}")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
