"""Jobs of several processes with and without the agent, in folders of their own; what they left."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import uuid

from places import BUILD, LIBRARY, NO_LIMIT, SLOWDOWN

PROGRAMS = BUILD / "programs"
STEADY = PROGRAMS / "steady"
TRACEAGENT = BUILD / "bin/traceagent"
# Each synchronization begins a step: the first three are skipped, warmed up; four are recorded.
STEPS = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize",
         "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=4,repeat=1"}
TIMEOUT = 60 * SLOWDOWN


def variables_of(**more):
    kept = {key: value for key, value in os.environ.items()
            if not re.match(r"TRACEAGENT_|OMPI_|PMI|SLURM_|RANK$|LOCAL_RANK$|WORLD_SIZE$|LD_PRELOAD$", key)}
    kept["LD_LIBRARY_PATH"] = f"{BUILD}/sim/lib:{BUILD}/sim/cupti:{PROGRAMS}"
    return kept | {key: str(value) for key, value in more.items()}


def processes_naming(folder):
    """Their pids: those with a word of their command line that begins with this folder, whosever children they are."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
        except OSError:
            continue
        if any(word.startswith(str(folder).encode()) for word in words):
            found.append(int(process.name))
    return found


class Place:
    """A working folder, and a folder for rings that must be empty again at the end."""

    def __init__(self):
        self._folders = [tempfile.TemporaryDirectory(prefix="traceagent-test-"),
                         tempfile.TemporaryDirectory(prefix="traceagent-test-", dir="/dev/shm")]
        self.path, self.rings = (pathlib.Path(folder.name) for folder in self._folders)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in self._folders:
            folder.cleanup()

    def agent(self, **more):
        return variables_of(**{"LD_PRELOAD": LIBRARY, "TRACEAGENT_RING_FOLDER": self.rings,
                               "TRACEAGENT_RUN_NAME": "job", **NO_LIMIT, **STEPS, **more})

    def ranks(self, count, **more):
        """Variables of the ranks of one run, as torchrun sets them."""
        run = uuid.uuid4().hex[:12]
        return [self.agent(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=count, LOCAL_WORLD_SIZE=count,
                           GROUP_RANK=0, TORCHELASTIC_RUN_ID=run, **more) for rank in range(count)]

    def start(self, command, variables):
        return subprocess.Popen([str(word) for word in command], env=variables, cwd=self.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace")

    def run(self, command, variables=None):
        return end_of(self.start(command, self.agent() if variables is None else variables))

    def files(self):
        return sorted(str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file())

    def left_in_memory(self):
        return sorted(str(path.relative_to(self.rings)) for path in self.rings.rglob("*"))

    def trace(self, name):
        return json.loads((self.path / name).read_text())


class Ended:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out!r}, stderr {self.err!r}"

    def lines(self):
        """What the agent said."""
        return [line for line in self.err.splitlines() if line.startswith("traceagent: ")]

    def own_err(self):
        """What the program said on standard error."""
        return [line for line in self.err.splitlines() if not line.startswith("traceagent: ")]


def end_of(process):
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Ended("timeout", out, err)
    return Ended(process.returncode, out, err)


def wait_until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not (is_so := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so


def wait_until_said(process, words):
    """On its standard output: that it has come so far. False: it has ended, or does not come so far."""
    os.set_blocking(process.stdout.fileno(), False)
    deadline, said = time.monotonic() + TIMEOUT, b""
    while words.encode() not in said and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        try:
            said += os.read(process.stdout.fileno(), 4096)
        except BlockingIOError:
            pass
    os.set_blocking(process.stdout.fileno(), True)
    return words.encode() in said


def bare_run(command):
    with tempfile.TemporaryDirectory() as folder:
        return end_of(subprocess.Popen([str(word) for word in command], env=variables_of(), cwd=folder,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace"))


def calls_in(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"
            and event["cat"] in ("cuda_runtime", "nccl")]


def steps_in(trace):
    return [event["args"]["step"] for event in trace["traceEvents"]
            if event["ph"] == "X" and event["name"].startswith("ProfilerStep#")]


def truth_of(*files):
    done = subprocess.run([str(BUILD / "bin/simgpu-truth"), *map(str, files)], capture_output=True,
                          text=True, timeout=TIMEOUT)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Checks:
    def __init__(self):
        self.failed, self.made = 0, 0

    def check(self, condition, what):
        self.made += 1
        if not condition:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)
        return bool(condition)

    def end(self):
        print(f"{self.made} checks, {self.failed} failed")
        return 1 if self.failed else 0
