#!/usr/bin/env python3
"""`traceagent upload` against the S3 server that AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
and AWS_REGION name, with a bucket `traces`. By hand: README.md. Needs curl.

With S3_CEPH_CONF, the ceph.conf of a radosgw, also against its full quota and its full disks.

usage: server_test.py BUILD DEPS [COMMAND]     COMMAND stops the server ("stop") and starts it ("start")"""
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from jobs import STEADY, TRACEAGENT, Checks, Place, end_of  # noqa: E402

checks = Checks()
check = checks.check
MIB = 1 << 20
PLACE = uuid.uuid4().hex[:8]
ODD_NAMES = ["a+b.json", "a b  c.json", "a%2Fb%20.json", "~!*(),$;.json", "what?x=1&y.json", "\"q\"'\\.json", "[]{}|^`<>.json",
             "e\u0301\u00e9\u4e2d\U0001f600.json", "-.json", "a#b@c:d=e.json"]


def upload(*words, **more):
    done = subprocess.run([str(TRACEAGENT), "upload", *map(str, words)], env=os.environ | more, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout + done.stderr


def curl(key, *words):
    """Without a body."""
    path = urllib.parse.quote(f"/traces/{key}", safe="/-_.~")
    return subprocess.run(
        ["curl", "-s", *words, "--path-as-is", "--aws-sigv4", f"aws:amz:{os.environ['AWS_REGION']}:s3", "-u",
         f"{os.environ['AWS_ACCESS_KEY_ID']}:{os.environ['AWS_SECRET_ACCESS_KEY']}", "-H",
         "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
         os.environ["AWS_ENDPOINT_URL"] + path], capture_output=True, timeout=300)


def stored(key):
    done = curl(key, "-f")
    return done.stdout if done.returncode == 0 else None


def parts_of_second(journal):
    before, second, after = journal.read_text().partition(f"{PLACE}/killed/")
    return after.count('"part"') if second else 0


def resumed_without_server(folder):
    """The server is started when the uploader has told that it is not there."""
    subprocess.run([sys.argv[3], "stop"], timeout=120, check=True)
    problem = next((folder / ".traceagent-upload").glob("*.journal")).with_suffix(".problem")
    problem.unlink(missing_ok=True)
    uploader = subprocess.Popen([str(TRACEAGENT), "upload", "--resume", str(folder), "--part-size", "5MiB", "--patience", "120s"],
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not problem.exists() and uploader.poll() is None:
        time.sleep(0.01)
    subprocess.run([sys.argv[3], "start"], timeout=120, check=True, stdin=subprocess.DEVNULL)
    out, _ = uploader.communicate(timeout=300)
    return uploader.returncode, out


def main(folder):
    sizes = {"a=b c:d@e+f&g#h%i'j\u00fc\u4e2d.json": 1000, "plain.json.gz": 3 * MIB, "empty.json": 0,
             "large.json": 70 * MIB + 11}
    sizes |= {name: 100 for name in ODD_NAMES}
    contents = {name: random.randbytes(size) for name, size in sizes.items()}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    files = [folder / name for name in contents]
    begin = time.monotonic()
    code, out = upload(*files, "--to", f"s3://traces//{PLACE}/=:@+/", AWS_SECRET_ACCESS_KEY="wrong")
    check(code == 1 and "SignatureDoesNotMatch" in out, f"a wrong secret: {code} {out}")
    code, out = upload("--resume", folder)
    print(f"75 MiB in {time.monotonic() - begin:.1f} s")
    check(code == 0, f"uploaded: {code} {out}")
    for name, data in contents.items():
        check(stored(f"{PLACE}/=:@+/{name}") == data, f"{name}: what is there is what was here")
    uploader = subprocess.Popen([str(TRACEAGENT), "upload", str(folder / "large.json"), "--to",
                                 f"s3://traces/{PLACE}/killed/", "--part-size", "5MiB"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    journal = next((folder / ".traceagent-upload").glob("*.journal"))
    while parts_of_second(journal) < 3 and uploader.poll() is None:
        time.sleep(0.01)
    uploader.kill()
    uploader.wait()
    code, out = resumed_without_server(folder) if sys.argv[3:] else upload("--resume", folder, "--part-size", "5MiB")
    check(code == 0, f"killed: {code} {out}")
    check(stored(f"{PLACE}/killed/large.json") == contents["large.json"], "killed between parts: whole")
    parts = parts_of_second(journal)
    check(parts == 15, f"killed between parts: {parts} parts were sent, for 15")
    check(not sys.argv[3:] or "tried again" in out, f"the server was away: {out}")


def test_two_nodes():
    """Two nodes' ranks with one folder, run twice; the target has variables, leading slashes, spaces and '+'."""
    with Place() as place:
        more = {name: value for name, value in os.environ.items() if name.startswith("AWS_")} | {
            "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=2", "TRACEAGENT_OUTPUT_FOLDER": "out",
            "TRACEAGENT_UPLOAD_WAIT": "60s", "TRACEAGENT_OUTPUT_OVERWRITE": "true",
            "TRACEAGENT_OUTPUT_REMOTE": f"s3://traces//{PLACE}/{{run_name}}/a+b \u00fc/n{{node_rank}}/r{{rank:04d}}-{{batch:06d}}.json",
            "TRACEAGENT_OUTPUT_MERGED_REMOTE": f"s3://traces/{PLACE}/{{run_name}}/"}
        for run in ("first", "second"):
            ranks = place.ranks(2, **more)
            for node, variables in enumerate(ranks):
                variables |= {"GROUP_RANK": str(node), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
            ends = [end_of(one) for one in [place.start([STEADY, 20, 5, 5000], each) for each in ranks]]
            check(all(end.code == 3 and not end.own_err() for end in ends), f"{run}: {ends}")
            check(not any("remote" in line or "upload" in line for end in ends for line in end.lines()), f"{run}: {ends}")
            for rank in range(2):
                for batch in (4, 8):
                    key = f"{PLACE}/job/a+b \u00fc/n{rank}/r{rank:04d}-{batch:06d}.json"
                    here = (place.path / f"out/ep0-ba{batch}-rank{rank}.json").read_bytes()
                    check(stored(key) == here, f"{run} run: {key}")
                here = (place.path / f"out/node{rank}.json").read_bytes()
                check(stored(f"{PLACE}/job/node{rank}.json") == here, f"{run} run: node {rank}")


class Ceph:
    """The server's own commands: S3_CEPH_CONF names its ceph.conf."""

    def __init__(self):
        self.conf = os.environ["S3_CEPH_CONF"]
        user = json.loads(self.run("radosgw-admin", "user", "info", f"--access-key={os.environ['AWS_ACCESS_KEY_ID']}"))
        self.user = user["user_id"]

    def run(self, command, *words):
        return subprocess.run([command, "-c", self.conf, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=True).stdout

    def objects(self):
        """Of the user, as its quota has them. The gateway counts them every three minutes, and one that was killed
        since never those that came before: here they are counted."""
        return json.loads(self.run("radosgw-admin", "user", "stats", f"--uid={self.user}", "--sync-stats"))["stats"]["num_objects"]

    def quota(self, *words):
        self.run("radosgw-admin", "quota", *words, "--quota-scope=user", f"--uid={self.user}")

    @staticmethod
    def refuses_soon():
        """The gateway has the user and his sums in caches, and one that was just started hears late of a new quota: an
        empty object of ours tells when it has."""
        began = time.monotonic()
        while b"QuotaExceeded" not in curl(f"{PLACE}/probe", "-X", "PUT", "-d", "").stdout:
            if time.monotonic() - began > 120:
                return False
            time.sleep(0.1)
        print(f"quota: the gateway kept to it after {time.monotonic() - began:.1f} s")
        return True

    def fill_disks(self, is_full):
        """By the shares from which on it calls its disks full."""
        for name, usual in (("nearfull", 0.85), ("backfillfull", 0.9), ("full", 0.95)):
            self.run("ceph", "osd", f"set-{name}-ratio", f"{usual / 300_000 if is_full else usual:.9f}")
        deadline = time.monotonic() + 120
        while ("is full" in self.run("ceph", "health", "detail")) != is_full and time.monotonic() < deadline:
            time.sleep(0.5)


def test_quota_full(folder, ceph):
    """The uploader that met it goes on when there is room again."""
    data = random.randbytes(1000)
    (folder / "quota.json").write_bytes(data)
    count = ceph.objects()
    check(count > 1, f"quota: the gateway counts {count} objects, so that one of 1 is not full")
    ceph.quota("set", "--max-objects=1")
    ceph.quota("enable")
    try:
        refuses = ceph.refuses_soon()
        check(refuses, "quota: the gateway itself does not keep to it: it says nothing of us")
        code, out = upload(folder / "quota.json", "--to", f"s3://traces/{PLACE}/", "--patience", "2s")
        check(code == 1 and "QuotaExceeded: make room there, or raise the quota: tried again" in out, f"quota: {code} {out}")
        problem = next((folder / ".traceagent-upload").glob("*.journal")).with_suffix(".problem")
        problem.unlink(missing_ok=True)
        waits = subprocess.Popen([str(TRACEAGENT), "upload", "--resume", str(folder), "--patience", "120s"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not problem.exists() and waits.poll() is None:
            time.sleep(0.05)
    finally:
        ceph.quota("disable")
    check(waits.wait(timeout=120) == 0 and stored(f"{PLACE}/quota.json") == data, "quota: room again, the same uploader")


def test_disks_full(folder, ceph):
    """The gateway answers no PUT at all then. The uploader ends with its patience."""
    contents = {"full.json": random.randbytes(1000), "full-parts.json": random.randbytes(12 * MIB)}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    words = ("--multipart-from", "8MiB", "--part-size", "5MiB")
    ceph.fill_disks(True)
    try:
        for name in contents:
            begin = time.monotonic()
            code, out = upload(folder / name, "--to", f"s3://traces/{PLACE}/", "--patience", "6s", *words)
            check(code == 1 and "the server stood still for" in out, f"disks full: {name}: {code} {out}")
            print(f"disks full: {name}: given up after {time.monotonic() - begin:.1f} s of 6")
    finally:
        ceph.fill_disks(False)
    code, out = upload("--resume", folder, "--patience", "60s", *words)
    check(code == 0, f"disks full: room again: {code} {out}")
    for name, data in contents.items():
        check(stored(f"{PLACE}/{name}") == data, f"disks full: {name}: whole")


class SlowLine:
    """To the server, at so many bytes a second."""

    def __init__(self, bytes_a_second):
        self.rate, self.listener = bytes_a_second, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        server = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
        self.server = (server.hostname, server.port or 80)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.server)
            for one, other, rate in ((client, server, self.rate), (server, client, 1 << 30)):
                threading.Thread(target=self.carry, args=(one, other, rate), daemon=True).start()

    @staticmethod
    def carry(one, other, rate):
        try:
            while data := one.recv(1 << 14):
                other.sendall(data)
                time.sleep(len(data) / rate)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_slow(folder):
    """Slower than patience lasts, but not standing still: it arrives, and is sent once."""
    contents = {"slow.json": random.randbytes(6 * MIB), "slow-parts.json": random.randbytes(12 * MIB)}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
        begin = time.monotonic()
        code, out = upload(folder / name, "--to", f"s3://traces/{PLACE}/", "--patience", "1s", "--multipart-from", "8MiB",
                           "--part-size", "5MiB", AWS_ENDPOINT_URL=SlowLine(2 * MIB).url)
        check(code == 0 and "tried again" not in out, f"slow: {name}: {code} {out}")
        check(stored(f"{PLACE}/{name}") == data, f"slow: {name}: whole")
        print(f"slow: {name}: {time.monotonic() - begin:.1f} s, with a patience of 1 s")


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
test_two_nodes()
with tempfile.TemporaryDirectory() as name:
    test_slow(pathlib.Path(name))
    if "S3_CEPH_CONF" in os.environ:
        test_quota_full(pathlib.Path(name), Ceph())
        test_disks_full(pathlib.Path(name), Ceph())
    else:
        print("NOT TESTED: a full quota and full disks: S3_CEPH_CONF does not name the server's ceph.conf")
sys.exit(checks.end())
