#!/usr/bin/env python3
"""`traceagent upload` against a strict S3 server, folders and commands: what arrives is whole, whatever
happens on the way."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from jobs import BUILD, TIMEOUT, Checks  # noqa: E402
from places import SANITIZED, SLOWDOWN  # noqa: E402
from uploading import MIB, Here, ended, wait_until  # noqa: E402

checks = Checks()
check = checks.check
# A sanitizer's runtime must come first in a process: libfaults.so cannot be preloaded there.
OF_FAULTS = set() if {"ASAN_OPTIONS", "TSAN_OPTIONS"}.isdisjoint(os.environ) else {
    "test_compacted_and_killed_anywhere", "test_the_journal_cannot_be_told"}
ODD_NAME = "a=b c:d@e+f&g#h%i'j\u00fc\u4e2d.json"


def test_by_hand_with_odd_names():
    with Here() as here:
        contents = {name: here.make(name, size) for name, size in
                    ((ODD_NAME, 1000), ("plain.json.gz", 3 * MIB), ("empty.json", 0))}
        done = here.run(*(here.files / name for name in contents), "--to", "s3://traces//lead//ing/=:@+/")
        check(done.code == 0, f"odd names: {done}")
        check(here.server.objects() == {f"lead//ing/=:@+/{name}": data for name, data in contents.items()},
              f"odd names: {sorted(here.server.objects())}")
        check("s3cr3t" not in "".join(path.read_text() for path in here.files.glob(".traceagent-upload/*")),
              "no secret in the journal")
        here.run("--resume", here.files)
        check(len(here.server.requests("PUT", 200)) == 3, "each is sent once")
        status = here.run("--status", here.files)
        check(status.code == 0 and "3 uploaded, 0 waiting" in status.out, f"status: {status}")
        here.run(here.files / "plain.json.gz", "--to", "s3://traces//lead//ing/=:@+/")
        check(len(here.server.requests("PUT", 200)) == 4, "by hand it is sent each time")
        said = " ".join(here.run("--help").out.split())
        check("What --resume finds to be there whole it does not send again" in said and "sent each time" in said,
              f"help: {said}")


def test_killed_at_any_time():
    with Here() as here:
        contents = {f"{n}.json": here.make(f"{n}.json", 200_000) for n in range(40)}
        here.server.behave("slow=1000000")
        uploader = here.start(here.files, "--to", "s3://traces/k/")
        check(wait_until(lambda: here.server.requests("PUT", 200)), "all are queued")
        for round_number in range(8):
            time.sleep(0.1 + 0.05 * round_number)
            uploader.kill()
            uploader.communicate()
            uploader = here.start("--resume", here.files)
        here.server.behave("")
        code, out = ended(uploader)
        check(code == 0, f"killed again and again: {code} {out}")
        check(here.server.objects() == {f"k/{name}": data for name, data in contents.items()},
              f"killed again and again: {len(here.server.objects())} of 40")


def test_server_goes_and_comes():
    with Here() as here:
        contents = {f"{n}.json": here.make(f"{n}.json", 100_000) for n in range(30)}
        here.server.behave("busy=20 lose_answers=10 slow=20000000")
        uploader = here.start(here.files, "--to", "s3://traces/")
        for _ in range(3):
            time.sleep(0.3)
            here.server.kill()
            time.sleep(0.2)
            here.server.start()
        here.server.behave("")
        code, out = ended(uploader)
        check(code == 0, f"goes and comes: {code} {out[-500:]}")
        check(here.server.objects() == contents, f"goes and comes: {sorted(here.server.objects())}")


def test_refusals():
    with Here() as here:
        here.make("a.json")
        start = time.monotonic()
        done = here.run(here.files / "a.json", "--to", "s3://traces/", AWS_SECRET_ACCESS_KEY="wrong")
        check(done.code == 1 and "SignatureDoesNotMatch: set AWS_SECRET_ACCESS_KEY" in done.out, f"secret: {done}")
        check("wrong" not in done.out + done.err, f"secret: not shown: {done}")
        check(not here.server.objects() and time.monotonic() - start < TIMEOUT / 2, "secret: refused at once")
        status = here.run("--status", here.files)
        check(status.code == 1 and "waiting: a.json" in status.out and "problem: " in status.out, f"{status}")
        done = here.run("--resume", here.files)
        check(done.code == 0 and list(here.server.objects()) == ["a.json"], f"repaired: {done}")
        done = here.run(here.files / "a.json", "--to", "s3://other/")
        check(done.code == 1 and "NoSuchBucket: make the bucket" in done.out, f"bucket: {done}")
        done = here.run(here.files / "a.json", "--to", "s3://traces/b/", AWS_ACCESS_KEY_ID="")
        check(done.code == 1 and "no credentials" in done.out, f"none: {done}")
        done = here.run(here.files / "a.json", "--to", "relative/folder")
        check(done.code == 2 and "traceagent: --to: relative/folder" in done.err, f"usage: {done}")
        for target in (f"{here.path}/{{run_name}}/", "s3://traces/{rank}/", "exec:put {} {node_rank}"):
            done = here.run(here.files / "a.json", "--to", target)
            check(done.code == 2 and "is known to a job alone" in done.err, f"whose run: {done}")


def test_write_only_key():
    with Here() as here:
        here.make("a.json")
        here.server.behave("write_only=1")
        done = here.run(here.files / "a.json", "--to", "s3://traces/", "--patience", "60s")
        check(done.code == 1 and "allow this key s3:GetObject" in done.out, f"write only: {done}")
        check(len(here.server.requests("PUT", 200)) == 1, f"write only: sent again: {done}")
        here.server.behave("")
        done = here.run("--resume", here.files)
        check(done.code == 0 and len(here.server.requests("PUT", 200)) == 1, f"write only, repaired: {done}")


def test_nothing_is_queued_that_was_refused():
    with Here() as here:
        here.make("a.json")
        (here.path / "more").mkdir()
        (here.path / "more/a.json").write_bytes(b"other")
        (here.path / "more/b.json").write_bytes(b"more")
        for words in ((here.files, here.path / "more", "--to", f"{here.path}/col/"),
                      (here.files, "--to", f"{here.path}/col/", "--patience", "long"),
                      (here.path / "more", "--to", f"{here.path}/col/all.json")):
            done = here.run(*words)
            check(done.code == 2 and len(done.err.splitlines()) == 1, f"usage: {done}")
        check(not list(here.path.glob("*/.traceagent-upload")), "nothing is queued")
        check(not (here.path / "col").exists(), "nothing is copied")
        done = here.run(here.files / "a.json", here.files, "--to", f"{here.path}/col/")
        check(done.code == 0 and (here.path / "col/a.json").exists(), f"one file twice is one: {done}")


def test_what_is_no_file_is_refused():
    with Here() as here:
        here.make("a.json")
        (here.files / "link.json").symlink_to("a.json")
        (here.path / "folder.json").mkdir()
        for to in ("s3://traces/", f"{here.path}/col/"):
            done = here.run(here.files / "link.json", "--to", to)
            check(done.code == 1 and "a symbolic link: give the file" in done.out, f"link: {done}")
        (here.files / "a.json").unlink()
        (here.files / "a.json").mkdir()
        done = here.run("--resume", here.files)
        check(done.code == 1 and "tried again" not in done.out, f"a folder: {done}")


# Root may read all, unless it may not have that right.
WITHOUT_RIGHTS = () if os.geteuid() != 0 else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def test_what_may_not_be_read_is_refused():
    """At once: the others go on, and who resumes is told the same."""
    if subprocess.run([*WITHOUT_RIGHTS, "true"], capture_output=True).returncode != 0:
        return print("unreadable: not tested: root's rights cannot be taken away")
    with Here() as here:
        contents = {name: here.make(name) for name in ("b.json", "c.json")}
        here.make("a.json")
        (here.files / "a.json").chmod(0)
        for words in ((here.files, "--to", "s3://traces/"), ("--resume", here.files)):
            done = here.run(*words, "--patience", "1h", before=WITHOUT_RIGHTS)
            check(done.code == 1 and "a.json -> s3://traces/a.json: this user may not read it: chmod it" in done.out
                  and "tried again" not in done.out, f"unreadable: {done}")
            check(here.server.objects() == contents, f"unreadable: the others: {done}")
        (here.files / "a.json").chmod(0o600)
        done = here.run("--resume", here.files)
        check(done.code == 0 and len(here.server.objects()) == 3, f"readable: {done}")


def test_changed_while_it_is_uploaded():
    """What is there is no file that ever was: it is sent again."""
    with Here() as here:
        here.make("a.json")
        script = here.path / "put"
        script.write_text("#!/bin/sh\ncp \"$1\" there\ntest -e changed || { touch changed; echo more >>\"$1\"; }\n")
        script.chmod(0o700)
        done = here.run(here.files / "a.json", "--to", f"exec:'{script}'")
        check(done.code == 0 and "it was changed while it was uploaded: tried again" in done.out, f"changed: {done}")
        check((here.path / "there").read_bytes() == (here.files / "a.json").read_bytes(), f"changed: {done}")


def peak_memory_bytes(process):
    """traceagent becomes traceagent-upload under the same pid."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


def test_memory_while_the_server_stands_still():
    """The request goes out, and its body no further: whatever the file's size, in one piece or in parts."""
    for words in ([], ["--multipart-from", "16MiB"]):
        with Here() as here:
            with open(here.files / "large.json", "wb") as file:
                file.truncate(192 * MIB)
            here.server.behave("still=1")
            uploading = here.start(here.files / "large.json", "--to", "s3://traces/x/", *words)
            try:
                stands = wait_until(lambda: (here.path / "s3/standing").exists())
                time.sleep(0.5)  # it sends what finds room on the way
                most = peak_memory_bytes(uploading)
            finally:
                uploading.kill()
                uploading.communicate()
            most_allowed = (96 if SANITIZED else 48) * MIB  # the runtime's own
            check(stands and most < most_allowed, f"standing still, {words}: it took {most / MIB:.0f} MiB")


def test_full_and_patience():
    with Here() as here:
        data = here.make("a.json", 10_000)
        here.server.behave("full=5000")
        done = here.run(here.files / "a.json", "--to", "s3://traces/", "--patience", "1s")
        check(done.code == 1 and "InsufficientStorage: make room there, or raise the quota: tried again" in done.out, f"full: {done}")
        here.server.behave("")
        done = here.run("--resume", here.files)
        check(done.code == 0 and here.server.objects() == {"a.json": data}, f"room again: {done}")


def test_standing_still_ends_with_patience():
    """A full Ceph answers nothing: no request may take longer than patience is left, nor less than three seconds. The
    first may take all of it, and there is a second."""
    with Here() as here:
        data = here.make("a.json", 200_000)
        here.server.behave("still=1")
        done = here.run(here.files / "a.json", "--to", "s3://traces/", "--patience", "1s")
        check(done.code == 1 and done.out.count("stood still for 3 s") == 2, f"standing still: {done}")
        here.server.behave("")
        done = here.run("--resume", here.files)
        check(done.code == 0 and here.server.objects() == {"a.json": data}, f"it goes on: {done}")


def test_credentials_in_files():
    with Here() as here:
        here.make("a.json")
        variables = here.server.variables()
        (here.path / ".aws").mkdir()
        (here.path / ".aws/credentials").write_text(
            "[default]\naws_access_key_id = none\naws_secret_access_key = none\n[mine]\n"
            f"aws_access_key_id = {variables['AWS_ACCESS_KEY_ID']}\n"
            f"aws_secret_access_key={variables['AWS_SECRET_ACCESS_KEY']}\n")
        (here.path / ".aws/config").write_text(
            f"[profile mine]\nregion = us-east-1\nendpoint_url = {variables['AWS_ENDPOINT_URL']}/\n")
        done = here.run(here.files / "a.json", "--to", "s3://traces/f/", AWS_PROFILE="mine", AWS_REGION="",
                        AWS_ENDPOINT_URL="", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        check(done.code == 0 and list(here.server.objects()) == ["f/a.json"], f"profile: {done}")


def test_folder():
    with Here() as here:
        data = here.make(ODD_NAME, 100_000)
        target = here.path / "deep" / "target"
        done = here.run(here.files / ODD_NAME, "--to", f"file://{target}/")
        check(done.code == 0 and (target / ODD_NAME).read_bytes() == data, f"folder: {done}")
        check([path.name for path in target.iterdir()] == [ODD_NAME], "folder: nothing else")
        (here.path / "file").write_text("")
        done = here.run(here.files / ODD_NAME, "--to", f"{here.path}/file/", "--patience", "0s")
        check(done.code == 1 and "tried again" in done.out, f"no folder: {done}")


def test_command():
    with Here() as here:
        name = "$(touch injected) ; `x` 'y'.json"
        data = here.make(name, 500)
        script = here.path / "put"
        script.write_text("#!/bin/sh\necho \"$#\" >>count\ntest -e fail && rm fail && exit 3\ncp \"$1\" \"$2\"\n")
        script.chmod(0o700)
        (here.path / "fail").write_text("")
        done = here.run(here.files / name, "--to", f"exec:'{script}' {{}} \"out put\"")
        check(done.code == 0 and "exit code 3: tried again" in done.out, f"command: {done}")
        check((here.path / "out put").read_bytes() == data, "command: what it was given")
        check((here.path / "count").read_text() == "2\n2\n", "command: two words, two tries")
        check(not (here.path / "injected").exists(), "command: no shell sees the name")
        for time_left, code, what in (("0", 2, "no time"), ("200000d", 0, "")):
            done = here.run(here.files / name, "--to", f"exec:'{script}' {{}} \"out put\"", "--command-time", time_left)
            check(done.code == code and what in repr(done), f"command: {time_left}: {done}")
        done = here.run(here.files / name, "--to", "exec:no-such-command")
        # Under valgrind the child alone knows that there is none.
        check(done.code == 1 and re.search("no-such-command: (No such file|exit code 127)", done.out), f"no command: {done}")
        done = here.run(here.files / name, "--to", "exec:sh -c no-such-command")
        check(done.code == 1 and "sh: exit code 127: name a command" in done.out, f"no command in a shell: {done}")
        # A queue is no reason to run what it names.
        done = here.run("--resume", here.files)
        check(done.code == 1 and "--allow-commands" in done.out, f"not asked for: {done}")
        # The command may go elsewhere from where the folder's name is good.
        script.write_text("#!/bin/sh\nexit 3\n")
        here.run(here.files / name, "--to", f"exec:'{script}' {{}}", "--patience", "0s")
        script.write_text(f"#!/bin/sh\ncd / && cp \"$1\" '{here.path}/moved'\n")
        here.run("--resume", here.files.relative_to(here.path), "--allow-commands", "--patience", "0s")
        check((here.path / "moved").read_bytes() == data, "command: in another folder")


def test_command_that_hangs():
    """It is ended with what it has started; the next try goes well."""
    with Here() as here:
        data = here.make("a.json")
        script = here.path / "put"
        script.write_text("#!/bin/sh\ntest -e late && exec cp \"$1\" there\ntouch late\nsleep 1000 &\n"
                          "echo $! >pid\nwait\n")
        script.chmod(0o700)
        done = here.run(here.files / "a.json", "--to", f"exec:'{script}'", "--command-time", "300ms")
        check(done.code == 0 and "it was ended after 0 s" in done.out, f"hangs: {done}")
        check((here.path / "there").read_bytes() == data, "hangs: the second try")
        child = pathlib.Path(f"/proc/{int((here.path / 'pid').read_text())}/cmdline")
        check(wait_until(lambda: not child.exists() or b"1000" not in child.read_bytes()), "hangs: its child ended")


def test_command_while_ends_of_children_are_ignored():
    """As a job may have it: what it starts has it too."""
    with Here() as here:
        data = here.make("a.json")
        words = here.command(here.files / "a.json", "--to", f"exec:cp {{}} '{here.path}/there'", "--command-time", "30s")
        code, out = ended(subprocess.Popen(["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", *words],
                                           env=here.variables(), text=True, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        check(code == 0 and "tried again" not in out, f"SIGCHLD ignored: {code} {out}")
        check((here.path / "there").read_bytes() == data, "SIGCHLD ignored: it is there")


def records(journal):
    return [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]


def test_compacted_and_killed_anywhere():
    """The queue of 60 files that are there and 3 that wait is made shorter; killed at any of its calls (each, by
    hand), none is forgotten."""
    with Here() as here:
        folder = here.files / ".traceagent-upload"
        folder.mkdir(mode=0o700)
        journal = folder / f"{socket.gethostname()}.journal"
        done = "".join(f'{{"queue":"{n}","file":"{n}.json","target":"{here.path}/x/{n}","kind":"node","keep":-1}}\n'
                       f'{{"done":"{n}","bytes":1,"sha256":"s"}}\n' for n in range(60))
        wait = "".join(f'{{"queue":"w{n}","file":"{n}.json","target":"{here.path}/there/{n}.json","kind":"node",'
                       f'"keep":-1}}\n' for n in range(3))
        contents = {f"{n}.json": here.make(f"{n}.json") for n in range(3)}
        words, deaths = ("--resume", here.files, "--compact-from", "1"), 0
        for call in range(1, 1000, 1 if sys.argv[3:] else 4):
            for path in (here.path / "there", journal):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            journal.write_text(done + wait)
            journal.chmod(0o600)
            how = ("kill", "kill_half", "kill_after")[call % 3]
            killed = here.run(*words, LD_PRELOAD=BUILD / "programs/libfaults.so", FAULTS=f"*#{call}={how}")
            queued = [record["queue"] for record in records(journal) if "queue" in record]
            waits = {f"w{n}" for n in range(3)}
            ended = {record["done"] for record in records(journal) if "done" in record}
            check(waits <= set(queued) | (ended if "compacted" in journal.read_text() else set()) or killed.code == 0,
                  f"killed at call {call}: {queued}")
            if killed.code == 0:
                break
            check(killed.code == -signal.SIGKILL, f"killed at call {call}: {killed}")
            deaths += 1
            again = here.run(*words)
            there = {path.name: path.read_bytes() for path in (here.path / "there").iterdir()
                     if not path.name.startswith(".")}
            check(again.code == 0 and there == contents, f"killed at call {call}: {again}")
        check(deaths > 10, f"compacted: killed {deaths} times")
        status = here.run("--status", here.files)
        check("63 uploaded, 0 waiting" in status.out, f"compacted: {status}")
        check(len(records(journal)) < 20, f"compacted: {len(records(journal))} records")
        check(not list(folder.glob("*.new")), "compacted: nothing half is left")


def test_the_journal_cannot_be_told():
    """The disk is full when a file has arrived: it is told later, and the file is not sent again."""
    with Here() as here:
        data = here.make("a.json")
        faults = {"LD_PRELOAD": BUILD / "programs/libfaults.so"}
        done = here.run(here.files / "a.json", "--to", "s3://traces/", FAULTS="write#3=ENOSPC", **faults)
        check(done.code == 0 and "No space left on device: tried again" in done.out, f"full once: {done}")
        check(here.server.objects() == {"a.json": data}, f"full once: {done}")
        check(len(here.server.requests("PUT")) == 1 and len(here.server.requests("HEAD")) == 1, f"full once: {done}")
        done = here.run(here.files / "a.json", "--to", "s3://traces/b/", "--patience", "1s", FAULTS="write#3+=ENOSPC",
                        **faults)
        check(done.code == 1 and len(here.server.requests("PUT")) == 2, f"full: {done}")
        done = here.run("--resume", here.files)
        check(done.code == 0 and len(here.server.requests("PUT")) == 2, f"room again: {done}")


def test_foreign_journal():
    with Here() as here:
        here.make("a.json")
        here.run(here.files / "a.json", "--to", f"{here.path}/none/")
        journal = next((here.files / ".traceagent-upload").glob("*.journal"))
        with open(journal, "a") as file:
            file.write('{"queue":"cut')
            file.write(f'\n{{"queue":"1","file":"../secret","target":"{here.path}/out/secret"}}\n')
            file.write(f'\n{{"queue":"2","file":"/etc/hostname","target":"{here.path}/out/host"}}\n')
        (here.path / "secret").write_text("")
        done = here.run("--resume", here.files)
        check(done.code == 0 and not (here.path / "out").exists(), f"outside the folder: {done}")
        journal.chmod(0o666)
        done = here.run("--resume", here.files)
        check(done.code == 1 and "others may write it" in done.err, f"others may write: {done}")
        journal.chmod(0o600)
        journal.parent.chmod(0o777)
        done = here.run("--resume", here.files)
        check(done.code == 1 and f"{journal.parent}: others may write it" in done.err, f"its folder: {done}")


def test_one_at_a_time():
    with Here() as here:
        here.make("a.json", 3_000_000)
        here.server.behave(f"slow={1_000_000 // SLOWDOWN}")  # so that three more are started meanwhile
        first = here.start(here.files / "a.json", "--to", "s3://traces/")
        lock = lambda: "an uploader is at work" in here.run("--status", here.files).out  # noqa: E731
        check(wait_until(lock), "one is at work")
        here.make("b.json", 1000)
        done = here.run(here.files / "b.json", "--to", "s3://traces/", "--patience", "0s")
        check(done.code == 1 and "another process is still at work" in done.err, f"no patience: {done}")
        done = here.run("--resume", here.files)
        check(done.code == 0 and "another process is at work" in done.out, f"the second: {done}")
        check(sorted(here.server.objects()) == ["a.json", "b.json"], f"the second waits: {done}")
        code, out = ended(first)
        check(code == 0 and len(here.server.requests("PUT", 200)) == 2, f"once: {code} {out}")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and test_name not in OF_FAULTS and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
