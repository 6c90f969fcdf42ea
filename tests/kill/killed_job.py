"""One run of some ranks of `steady` in folders of their own, and what kills them."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from jobs import STEADY, TRACEAGENT, variables_of
from places import BUILD, LIBRARY, NO_LIMIT
from published import Windows
from trace_file import Trace

FAULTS = BUILD / "programs/libfaults.so"
TRUTH = BUILD / "bin/simgpu-truth"
LIVE = "sigpending#1000000=kill"  # counts the calls, and never strikes
FINISHED = 84  # where ring::Header::finished stands
LIMIT_S = 120  # the machine itself may stand still for a while
WINDOWS = Windows(wait=1, warmup=1, active=3, repeat=3)


class Process:
    """In a session of its own, which ends with it. Its outputs are files: nobody waits for a pipe."""

    def __init__(self, command, variables, folder):
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._process = subprocess.Popen([str(word) for word in command], env=variables, cwd=folder,
                                         stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                                         start_new_session=True)
        self.pid, self.code, self.out, self.err = self._process.pid, None, "", ""

    def is_over(self):
        return self._process.poll() is not None

    def send(self, number):
        self._process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)

    def end(self):
        if self.code is not None:
            return self
        try:
            self.code = self._process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.code = "hangs"
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self.out, self.err = (self._text(file) for file in (self._out, self._err))
        return self

    def wait_until_said(self, words):
        deadline = time.monotonic() + LIMIT_S
        while words.encode() not in os.pread(self._out.fileno(), 1 << 16, 0) and not self.is_over() and \
                time.monotonic() < deadline:
            time.sleep(0.001)

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out!r}, stderr {self.err!r}"

    @staticmethod
    def _text(file):
        file.seek(0)
        with file:
            return file.read().decode(errors="replace")


class KilledJob:
    """Folders, ranks and their truths."""

    def __init__(self, ranks=1, zipped=False, windows=WINDOWS):
        self.is_zipped, self.node_file = zipped, "out/node0.json" + (".gz" if zipped else "")
        self.windows = windows
        self._folders = [tempfile.TemporaryDirectory(prefix="traceagent-kill-"),
                         tempfile.TemporaryDirectory(prefix="traceagent-kill-", dir="/dev/shm")]
        self.path, self.rings = (pathlib.Path(folder.name) for folder in self._folders)
        self.ranks, self._run, self._tools = ranks, uuid.uuid4().hex[:12], 0
        self.killed_tools = set()  # their numbers
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            if not process.is_over():
                process.kill()
            process.end()
        if os.environ.get("KEEP_FAILED"):
            self.keep(os.environ["KEEP_FAILED"])
        for folder in self._folders:
            folder.cleanup()

    def keep(self, folder):
        shutil.copytree(self.path, folder, dirs_exist_ok=True)

    def variables(self, rank, faults="", **more):
        preload = f"{LIBRARY} {FAULTS}" if faults else str(LIBRARY)
        ranks = {} if self.ranks == 1 else {
            "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self.ranks, "LOCAL_WORLD_SIZE": self.ranks,
            "GROUP_RANK": 0, "TORCHELASTIC_RUN_ID": self._run}
        return variables_of(**{
            "LD_PRELOAD": preload, "TRACEAGENT_RING_FOLDER": self.rings, "TRACEAGENT_RING_SIZE": "2MiB",
            "TRACEAGENT_RUN_NAME": "job", "TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_SCHEDULE": self.windows.text,
            "TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize", "FAULTS": faults,
            "TRACEAGENT_OUTPUT_GZIP": str(self.is_zipped).lower(), **NO_LIMIT,
            # What is handed over later than a file is written would be neither shown nor lost.
            "TRACEAGENT_DEVICE_SETTLE": f"{LIMIT_S}s",
            "FAULTS_PLACES": self.path / f"places{rank}", "SIMGPU_TRUTH": self.path / f"{rank}.truth",
            **ranks, **more})

    def start(self, rank=0, steps=17, calls=10, pause_us=2000, threads=1, faults="", **more):
        command = [STEADY, steps, calls, pause_us, threads]
        self.processes[rank] = Process(command, self.variables(rank, faults, **more), self.path)
        return self.processes[rank]

    def end(self):
        return [self.processes[rank].end() for rank in sorted(self.processes)]

    def kill_all(self):
        """Who was killed, and had not ended before."""
        for process in self.processes.values():
            process.kill()
        return {number for number, process in enumerate(self.end()) if process.code == -signal.SIGKILL}

    def as_generation(self, name):
        """The ranks that ran until now, and their truths; the next ones are of the same key."""
        made = Generation(self, name, {rank: process.end().pid for rank, process in self.processes.items()})
        for rank in self.processes:
            if (self.path / f"{rank}.truth").exists():
                (self.path / f"{rank}.truth").rename(self.path / f"{name}-{rank}.truth")
        self.processes = {}
        return made

    def tool(self, *words, faults=""):
        """`traceagent ...`; with faults in its own calls."""
        self._tools += 1
        variables = variables_of(TRACEAGENT_RING_FOLDER=self.rings)
        if faults:
            variables |= {"LD_PRELOAD": str(FAULTS), "FAULTS": faults,
                          "FAULTS_PLACES": str(self.path / f"tool{self._tools}")}
        ended = Process([TRACEAGENT, *words], variables, self.path).end()
        if ended.code == -signal.SIGKILL:
            self.killed_tools.add(ended.pid)
        return ended

    def half_written(self, folder="out"):
        """Hidden files; but what a killed tool has left waits for a day: its writer may live in another container."""
        tools = tuple(f".tmp-{pid}" for pid in self.killed_tools)
        return [path.name for path in (self.path / folder).glob(".*")
                if path.name != ".traceagent-upload" and not path.name.endswith(tools)]

    def last_tools_places(self):
        return self.path / f"tool{self._tools}"

    def has_ring(self, pattern):
        try:
            return any(self.rings.rglob(pattern))
        except FileNotFoundError:  # a folder that was set aside while we looked
            return False

    def wait_for_ring(self):
        deadline = time.monotonic() + LIMIT_S
        while not self.has_ring("*.ring") and time.monotonic() < deadline:
            time.sleep(0.001)

    def wait_for_ring_of(self, process):
        deadline = time.monotonic() + LIMIT_S
        while not self.has_ring(f"*-{process.pid}-*.ring") and not process.is_over() and \
                time.monotonic() < deadline:
            time.sleep(0.001)

    def has_finished(self, process):
        """It has said so in its ring, and waits for others."""
        for ring in self.rings.rglob(f"*-{process.pid}-*.ring"):
            return any(ring.read_bytes()[FINISHED:FINISHED + 4])  # none yet of one that is being made
        return False

    def truth(self, rank):
        path = self.path / f"{rank}.truth"  # or of a generation: its name and the rank
        if not path.exists():
            return []
        done = subprocess.run([TRUTH, path], capture_output=True, text=True, timeout=LIMIT_S)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rank_files(self):
        return sorted((self.path / "out").glob("ep*.json*"))

    def trace(self, name):
        path = self.path / name
        return Trace(path) if path.exists() else None

    def left_in_memory(self):
        return sorted(str(path.relative_to(self.rings)) for path in self.rings.rglob("*"))


class Generation:
    """One of several runs of the same key."""

    def __init__(self, job, name, pids):
        self._job, self.name, self.ranks, self.pids = job, name, sorted(pids), sorted(pids.values())

    def truth(self, rank):
        return self._job.truth(f"{self.name}-{rank}")


def places_of(function, zipped=False, **how):
    """The agent's calls in a run that is let live; its checks hold as for any other."""
    with KilledJob(zipped=zipped) as job:
        job.start(faults=LIVE, **how)
        ended = job.end()[0]
        if ended.code != 3:
            sys.exit(f"the program does not run: {ended}")
        return function(job.path / "places0")


def a_dead_job(job, chance, before=lambda: None, **more):
    """Two ranks killed in the middle of their run, mostly in the second window or later; `before` that."""
    for number in range(2):
        job.start(number, steps=100, **more)
    for process in job.processes.values():
        job.wait_for_ring_of(process)
        if chance.random() < 0.9:
            process.wait_until_said("step 10")
    time.sleep(chance.random() * 0.02)
    before()
    return job.kill_all()
