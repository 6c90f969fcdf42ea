#!/usr/bin/env python3
"""One target that fails for good: the others' files arrive, and what nobody wants any more leaves the queue."""
import json
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from jobs import Checks  # noqa: E402
from uploading import Here, wait_until  # noqa: E402

checks = Checks()
check = checks.check
NAMES = [f"{n}.json" for n in range(7)]


def queue_for_a_dead_target(here):
    contents = {name: here.make(name) for name in NAMES}
    done = here.run(here.files, "--to", "exec:false {}", "--patience", "0s")
    check(done.code == 1 and done.out.count("exit code 1: tried again") == 1, f"dead: one try: {done}")
    return contents


def arrived(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_by_hand_waits_for_what_was_named():
    with Here() as here:
        contents = queue_for_a_dead_target(here)
        there = here.path / "there"
        done = here.run(here.files, "--to", f"{there}/", "--patience", "0s")
        check(done.code == 0 and arrived(there) == contents, f"by hand: {done}")
        check("exec:false" not in done.out, f"by hand: the others are not tried: {done}")
        check(f"7 uploads that were queued before wait: traceagent upload --resume {here.files} --allow-commands" in done.out,
              f"by hand: the others are told: {done}")
        status = here.run("--status", here.files)
        check(status.code == 1 and "7 uploaded, 7 waiting" in status.out and "problem: 0.json" in status.out,
              f"by hand: they wait: {status}")


def test_resume_goes_on_with_the_others():
    with Here() as here:
        contents = queue_for_a_dead_target(here)
        (here.path / "there").write_text("no folder")
        done = here.run(here.files, "--to", f"{here.path}/there/", "--patience", "0s")
        check(done.code == 1 and done.out.count("tried again") == 1, f"resume: one try: {done}")
        here.run("--resume", here.files, "--allow-commands", "--patience", "0s")
        told = [line for line in here.run("--status", here.files).out.splitlines() if line.startswith("problem: ")]
        check(len(told) == 2 and any("exec:false" in line for line in told) and any("/there/" in line for line in told)
              and "files wait" in told[0] and "files wait" not in told[1], f"resume: a problem of each target: {told}")
        (here.path / "there").unlink()
        done = here.run("--resume", here.files, "--allow-commands", "--patience", "0s")
        check(done.code == 1 and arrived(here.path / "there") == contents, f"resume: {done}")
        check(done.out.count("exit code 1: tried again") == 1, f"resume: {done}")


def test_a_problem_of_each_target():
    """Whichever uploader had it; until nothing waits for that target."""
    with Here() as here:
        here.make("a.json")
        for code in (5, 6):
            here.run(here.files, "--to", f"exec:sh -c 'exit {code}' {{}}", "--patience", "0s")
        told = [line for line in here.run("--status", here.files).out.splitlines() if line.startswith("problem: ")]
        check(len(told) == 2 and "exit code 6: 2 files wait" in told[0] and told[1].endswith("exit code 5"), f"each: {told}")


def test_forget():
    with Here() as here:
        queue_for_a_dead_target(here)
        here.run("--resume", here.files, "--patience", "0s")
        (here.files / "index").mkdir()
        index = here.files / "index/index.json"
        index.write_text('{"run_key": "r", "entries": [\n{"saved": "0.json", "rank": 0}\n]}\n')
        here.run(here.files / "1.json", "--to", f"{here.path}/there-too/1.json", "--patience", "0s")
        for words, why in (([here.files, "--forget", "exec:true"], "nothing waits for it"),
                           ([here.files, "--forget", "fal"], "--forget: fal: "),
                           ([here.files / "1.json", "--forget", "exec:false"], "give the folder")):
            done = here.run(*words)
            check(done.code != 0 and why in done.err and len(done.err.splitlines()) == 1, f"forget: {words}: {done}")
        done = here.run(here.files, "--forget", "exec:false")
        check(done.code == 0 and done.out.count(" -> exec:false: left out: the file stays\n") == 7, f"forget: {done}")
        check(all((here.files / name).exists() for name in NAMES), "forget: the files stay")
        status = here.run("--status", here.files)
        check(status.code == 0 and "1 uploaded, 0 waiting" in status.out and
              "7 left out (upload.queue, --forget, another run's or cycle's file, no file)" in status.out and "problem" not in status.out, f"forget: {status}")
        entries = json.loads(index.read_text())["entries"]
        check([entry["left_out"] for entry in entries if "left_out" in entry] == ["0.json"], f"forget: {entries}")
        done = here.run("--resume", here.files)
        check(done.code == 0, f"forget: nothing is left: {done}")


def test_forget_a_folder():
    """And nothing beside it whose name begins the same."""
    with Here() as here:
        here.make("a.json")
        for name in ("x", "xy"):
            (here.path / name).write_text("no folder")
            here.run(here.files / "a.json", "--to", f"{here.path}/{name}/", "--patience", "0s")
        done = here.run(here.files, "--forget", f"{here.path}/x")
        check(done.code == 0 and done.out.count("left out") == 1, f"folder: {done}")
        status = here.run("--status", here.files)
        check("1 waiting" in status.out and "/xy/a.json" in status.out, f"folder: {status}")
        told = [line for line in status.out.splitlines() if line.startswith("problem: ")]
        check(len(told) == 1 and "/xy/a.json: " in told[0] and "1 file waits" in told[0], f"folder: the other's problem: {status}")


def test_forget_one_of_two_commands():
    """That begin alike: not both of them, unless that is said."""
    with Here() as here:
        here.make("a.json")
        five, six = "exec:sh -c 'exit 5' {}", "exec:sh -c 'exit 6' x {}"
        for target in (five, six):
            here.run(here.files, "--to", target, "--patience", "0s")
        done = here.run(here.files, "--forget", "exec:sh")
        check(done.code == 1 and len(done.err.splitlines()) == 1 and "2 commands begin so" in done.err and not done.out,
              f"two commands: {done}")
        listed = [word for word in shlex.split(done.err.partition("at least: ")[2]) if word != "or"]
        check([shlex.split(target) for target in listed] == [shlex.split(five), shlex.split(six)], f"two commands: {listed}")
        check("2 waiting" in here.run("--status", here.files).out, "two commands: both wait")
        done = here.run(here.files, "--forget", listed[0])
        check(done.code == 0 and done.out.count("left out") == 1, f"two commands: {listed}: {done}")
        status = here.run("--status", here.files).out
        check("1 waiting" in status and "exit code 6" in status and "exit code 5" not in status, f"two commands: {status}")
        here.run(here.files, "--to", five, "--patience", "0s")
        done = here.run(here.files, "--forget", "exec:sh -c")
        check(done.code == 0 and done.out.count("left out") == 2, f"two commands: by two words: {done}")


def test_by_hand_it_is_said_how_long_it_is_tried():
    """And not for as long as a job would: somebody waits."""
    with Here() as here:
        here.make("a.json")
        waits = here.start(here.files, "--to", "exec:false {}")
        line = waits.stdout.readline()
        waits.kill()
        waits.communicate()
        check("exit code 1: tried again for 5min while none succeeds (--patience)\n" in line, f"patience: {line!r}")
        done = here.run("--resume", here.files, "--allow-commands", "--patience", "1s")
        check(done.code == 1 and "tried again for 1s while" in done.out and done.out.endswith(
            f"given up: none succeeded for 1s: the files wait: later: traceagent upload --resume {here.files} --allow-commands, "
            f"or not at all: traceagent upload {here.files} --forget TARGET\n"),
              f"patience: {done}")


def test_wrong_keys_are_not_tried_for_each_file():
    """Each cycle of a job starts an uploader, and thousands of files may wait."""
    with Here() as here:
        contents = {f"{n}.json": here.make(f"{n}.json") for n in range(30)}
        done = here.run(here.files, "--to", "s3://traces/", **here.server.variables(secret="wrong"))
        asked = here.server.requests("PUT")
        check(done.code == 1 and "SignatureDoesNotMatch" in done.out and len(asked) == 3, f"wrong keys: {asked}: {done}")
        status = here.run("--status", here.files)
        check("30 waiting" in status.out and "30 files wait" in status.out, f"wrong keys: {status}")
        done = here.run("--resume", here.files)
        check(done.code == 0 and here.server.objects() == contents, f"wrong keys, repaired: {done}")


def test_a_key_that_may_not_put_is_not_tried_for_each_file():
    with Here() as here:
        for n in range(30):
            here.make(f"{n}.json")
        here.server.behave("no_put=1")
        done = here.run(here.files, "--to", "s3://traces/")
        asked = here.server.requests("PUT")
        check(done.code == 1 and "AccessDenied" in done.out and len(asked) == 3, f"may not: {len(asked)}: {done}")


def test_what_is_on_its_way_is_not_forgotten():
    """Or it would be told to be left out, and arrive."""
    with Here() as here:
        contents = here.make("a.json", 4 << 20)
        here.make("b.json")
        here.server.behave(f"slow={2 << 20} busy=100")
        here.run(here.files, "--to", "s3://traces/", "--patience", "0s")
        here.server.behave(f"slow={2 << 20}")
        sends = here.start("--resume", here.files)
        check(wait_until(lambda: "an uploader is at work" in here.run("--status", here.files).out),
              "on its way: at work")
        done = here.run(here.files, "--forget", "s3://traces/")
        check(done.code == 1 and "a.json -> s3://traces/a.json: on its way: ask again\n" in done.out,
              f"on its way: {done}")
        out = sends.communicate()[0]
        check(here.server.objects().get("a.json") == contents, f"on its way: it arrives: {out}")
        told = done.out.count("left out: the file stays")
        check(len(here.server.objects()) + told == 2, f"on its way: either: {done} {out}")


def test_a_forgotten_half():
    """Of a copy to a folder, whose uploader was killed."""
    with Here() as here:
        (here.files / "a.json").write_bytes(bytes(64 << 20))
        there = here.path / "there"
        copies = here.start(here.files, "--to", f"{there}/")
        check(wait_until(lambda: there.exists() and any(there.iterdir())), "half: it copies")
        copies.kill()
        copies.communicate()
        if (there / "a.json").exists():
            return
        done = here.run(here.files, "--forget", f"{there}/")
        check(done.code == 0 and not list(there.iterdir()), f"half: {list(there.iterdir())}: {done}")


def test_a_damaged_record_is_told():
    with Here() as here:
        for name in NAMES[:3]:
            here.make(name)
        here.server.behave("busy=100")
        here.run(here.files, "--to", "s3://traces/", "--patience", "0s")
        here.server.behave("")
        journal = next((here.files / ".traceagent-upload").glob("*.journal"))
        journal.write_bytes(journal.read_bytes().replace(b'"file": "1.json"', bytes(8) + b'"1.json"'))
        words = "1 damaged record: a file may not be queued"
        status = here.run("--status", here.files)
        check(status.code == 1 and words in status.out, f"damaged: {status}")
        done = here.run("--resume", here.files)
        check(done.code == 1 and words in done.err and sorted(here.server.objects()) == ["0.json", "2.json"],
              f"damaged: {done}")
        status = here.run("--status", here.files)
        check(status.code == 1 and words in status.out, f"damaged: still: {status}")


def test_a_journal_that_cannot_grow_ends_no_upload():
    """As on a disk that is full of what waits."""
    with Here() as here:
        contents = here.make("a.json")
        here.run(here.files, "--to", "s3://traces/", "--patience", "0s", AWS_ACCESS_KEY_ID="")  # nothing has begun
        size = next((here.files / ".traceagent-upload").glob("*.journal")).stat().st_size
        done = here.run("--resume", here.files, "--patience", "0s", before=["prlimit", f"--fsize={size}"])
        check(done.code == 1 and here.server.objects() == {"a.json": contents}, f"full: {done}")
        done = here.run("--resume", here.files)
        check(done.code == 0, f"full: room again: {done}")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
