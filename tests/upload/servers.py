"""The test's own S3 server (s3_server.py) as an object: start, kill, start again; what it holds."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse

import s3_server

SCRIPT = pathlib.Path(s3_server.__file__)


class S3Server:
    def __init__(self, folder):
        self.folder, self.port, self.process = pathlib.Path(folder), 0, None

    def start(self):
        for _ in range(50):  # on the port that it had, which clients know
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), str(self.folder), str(self.port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            line = self.process.stdout.readline()
            if line.strip():
                self.port = int(line)
                return self
            self.process.wait()
        raise RuntimeError("the S3 server does not start")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()

    def behave(self, words):
        (self.folder / "behaviour").write_text(words)

    def variables(self, secret=s3_server.SECRET):
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": s3_server.KEY,
                "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": s3_server.REGION,
                "AWS_EC2_METADATA_DISABLED": "true"}

    def objects(self, prefix=""):
        """Key in the bucket -> bytes."""
        found = {}
        for path in (self.folder / "objects").iterdir():
            if not path.name.endswith(".meta") and ".tmp" not in path.name:
                name = urllib.parse.unquote(path.name)
                found[name.partition("/")[2]] = path.read_bytes()
        return {key: data for key, data in found.items() if key.startswith(prefix)}

    def unjoined(self):
        return list((self.folder / "parts").iterdir())

    def requests(self, method=None, status=None):
        try:
            lines = (self.folder / "requests.log").read_text().splitlines()
        except OSError:
            return []
        found = [line.split(" ", 3) for line in lines]
        return [line for line in found if (method is None or line[1] == method)
                and (status is None or line[0] == str(status))]


class NamedServer:
    """One that runs already: the variables AWS_* say where, S3_COMMAND stops it ("stop") and starts it ("start"),
    S3_LOG is its log of requests, as radosgw's. With a bucket `traces`."""

    def __init__(self, _folder):
        self.process, self.log_bytes = self, os.path.getsize(os.environ["S3_LOG"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def kill(self):
        subprocess.run([os.environ["S3_COMMAND"], "stop"], timeout=60, check=True)

    def start(self):
        subprocess.run([os.environ["S3_COMMAND"], "start"], timeout=60, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if self.curl("/?max-keys=1"):
                return self
            time.sleep(0.1)
        raise RuntimeError("the server does not start")

    def variables(self):
        return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}

    def curl(self, *paths, more=()):
        config = "".join(f'url = "{os.environ["AWS_ENDPOINT_URL"]}/traces{path}"\n' for path in paths)
        return subprocess.run(
            ["curl", "-sf", *more, "--path-as-is", "--aws-sigv4", f"aws:amz:{os.environ['AWS_REGION']}:s3", "-u",
             f"{os.environ['AWS_ACCESS_KEY_ID']}:{os.environ['AWS_SECRET_ACCESS_KEY']}", "-H",
             f"x-amz-content-sha256: {hashlib.sha256(b'').hexdigest()}", "--config", "-"],
            input=config.encode(), capture_output=True, timeout=600).stdout

    def get(self, *paths):
        """Headers and body of each."""
        answers, left = [], self.curl(*paths, more=["-i"])
        while left.startswith(b"HTTP/"):
            head, _, left = left.partition(b"\r\n\r\n")
            length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
            answers.append((head.decode(), left[:length]))
            left = left[length:]
        return answers

    def keys(self, prefix):
        keys, after = [], ""
        while True:
            query = f"?list-type=2&prefix={urllib.parse.quote(prefix, safe='')}" + after
            page = self.curl("/" + query)
            found = re.findall(r"<Key>([^<]*)</Key>", page.decode())
            keys += found
            if b"<IsTruncated>true" not in page:
                return keys
            after = "&start-after=" + urllib.parse.quote(found[-1], safe="")

    def objects(self, prefix=""):
        """Each is what its own sum says, which the uploader gave along."""
        keys, found = self.keys(prefix), {}
        for first in range(0, len(keys), 200):
            names = keys[first:first + 200]
            answers = self.get(*("/" + urllib.parse.quote(name, safe="/-_.~") for name in names))
            assert len(answers) == len(names), f"{len(answers)} of {len(names)} objects"
            for name, (head, body) in zip(names, answers):
                told = re.search(r"(?i)traceagent-sha256: ([0-9a-f]+)", head)[1]
                assert told == hashlib.sha256(body).hexdigest(), f"{name}: not what was sent"
                found[name] = body
        return found

    def requests(self, method, status):
        with open(os.environ["S3_LOG"]) as log:
            log.seek(self.log_bytes)
            found = re.findall(r'"(\w+) /(traces/\S*) HTTP/1\.1" (\d+)', log.read())
        return [(code, verb, urllib.parse.unquote(path), "") for verb, path, code in found
                if verb == method and code == str(status)]


def any_server(folder):
    return NamedServer(folder) if "S3_COMMAND" in os.environ else S3Server(folder)
