"""`traceagent upload` in a folder with files, beside a server."""

import pathlib
import random
import subprocess
import tempfile
import time

from jobs import TIMEOUT, TRACEAGENT, Ended, end_of, variables_of
from servers import S3Server

MIB = 1 << 20


class Here:
    """A folder with files, and a server."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="traceagent-test-")
        self.path = pathlib.Path(self._folder.name)
        self.files = self.path / "traces"
        self.files.mkdir()
        (self.path / "s3").mkdir()
        self.server = S3Server(self.path / "s3")

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.kill()
        self._folder.cleanup()

    def make(self, name, size=1000):
        contents = random.randbytes(size)
        (self.files / name).write_bytes(contents)
        return contents

    def command(self, *words):
        return [str(TRACEAGENT), "upload", *map(str, words)]

    def variables(self, **more):
        return variables_of(HOME=self.path, **{**self.server.variables(), **more})

    def run(self, *words, before=(), **more):
        done = subprocess.run([*before, *self.command(*words)], env=self.variables(**more), text=True, cwd=self.path,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT)
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *words, **more):
        return subprocess.Popen(self.command(*words), env=self.variables(**more), text=True, cwd=self.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ended(process):
    end = end_of(process)
    return end.code, end.out


def wait_until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()
