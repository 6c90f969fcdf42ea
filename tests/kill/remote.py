"""A job whose files are uploaded into a folder, and the uploaders that work beside it."""

import json
import os
import pathlib
import signal
import time

from killed_job import LIMIT_S, KilledJob


class RemoteJob(KilledJob):
    """`output.remote` and `output.merged_remote` are a folder of the job's. The uploaders are nobody's
    children: they end with the job's place."""

    def __init__(self, ranks=1, keep=-1):
        super().__init__(ranks)
        self.keep, self.there = keep, self.path / "there"

    def __exit__(self, *error):
        self.kill_uploaders()
        super().__exit__(*error)

    def variables(self, rank, faults="", **more):
        return super().variables(rank, faults, TRACEAGENT_OUTPUT_REMOTE=f"{self.there}/",
                                 TRACEAGENT_OUTPUT_MERGED_REMOTE=f"{self.there}/",
                                 TRACEAGENT_OUTPUT_KEEP=self.keep, **more)

    def uploaders(self):
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else [b""]
            except OSError:
                continue
            if words[0].endswith(b"traceagent-upload") and any(str(self.path).encode() in word for word in words):
                found.append(int(folder.name))
        return found

    def kill_uploaders(self):
        """How many."""
        killed = 0
        for pid in self.uploaders():
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + LIMIT_S
        while self.uploaders() and time.monotonic() < deadline:
            time.sleep(0.005)
        return killed

    def half_files(self):
        """There, under the name of a whole one."""
        half = []
        for path in self.there.glob("[!.]*"):
            try:
                json.loads(path.read_bytes())
            except ValueError:
                half.append(path.name)
        return half

    def not_arrived(self):
        """What is there must be what is here, byte by byte; with `keep: 0` only the node's file is here.
        No file of an interrupted copy stays."""
        for path in sorted((self.path / "out").glob("[!.]*.json")):
            copy = self.there / path.name
            if not copy.exists():
                yield f"{path.name} is not there"
            elif copy.read_bytes() != path.read_bytes():
                yield f"{path.name} is another one there"
        yield from (f"{path.name} is left there" for path in self.there.glob(".*"))
