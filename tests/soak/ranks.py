"""The processes of the soak: their environment, what they have counted, how they end."""

import mmap
import os
import signal
import struct
import subprocess
import time

from jobs import TRACEAGENT, variables_of
from places import BUILD, LIBRARY

PROGRAM = BUILD / "soak/soak_rank"
THREADS = 2
LIMIT_S = 120  # the machine itself may stand still for a while
# Offsets of shared_page.hpp.
_STOP, _STEPS_BEGUN, _STEPS_MARKED, _BEGUN, _DONE, _BEFORE_STEP = 0, 8, 16, 24, 40, 56
_BYTES = _BEFORE_STEP + (1 << 18) * THREADS * 8


class Page:
    """What a rank has done; it is there when the rank is dead."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.truncate(_BYTES)
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _BYTES)

    def _number(self, offset):
        return struct.unpack_from("<Q", self._memory, offset)[0]

    def tell_to_stop(self):
        struct.pack_into("<Q", self._memory, _STOP, 1)

    def steps_begun(self):
        return self._number(_STEPS_BEGUN)

    def steps_marked(self):
        return self._number(_STEPS_MARKED)

    def begun(self):
        return [self._number(_BEGUN + 8 * thread) for thread in range(THREADS)]

    def done(self):
        return [self._number(_DONE + 8 * thread) for thread in range(THREADS)]

    def before_step(self, step):
        return [self._number(_BEFORE_STEP + 8 * (THREADS * step + thread)) for thread in range(THREADS)]


class Process:
    """One rank, or with `traced` false the same program alone. Its outputs are files: nobody waits for a pipe."""

    def __init__(self, rank, load, folder, variables, traced=True):
        self.rank, self.traced, self.ending = rank, traced, None
        name = f"{'rank' if traced else 'bare'}{rank}-{time.monotonic_ns()}"
        self._page_path = folder / f"{name}.page"
        self.page, self._errors = Page(self._page_path), folder / f"{name}.err"
        command = [PROGRAM, self._page_path, load.events_per_s, load.step_ms, load.leak_bytes if traced else 0]
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [str(word) for word in command], env=variables, cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        self.pid, self.started = self._process.pid, time.monotonic()

    def lives(self):
        return self._process.poll() is None

    def age_s(self):
        return time.monotonic() - self.started

    def kill(self):
        self.ending = "killed"
        self._process.send_signal(signal.SIGKILL)
        self.wait()

    def stop(self):
        self.ending = "stopped"
        self.page.tell_to_stop()

    def wait(self):
        """Its exit code, or "hangs"; whatever it started ends with it."""
        try:
            code = self._process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            code = "hangs"
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._page_path.unlink(missing_ok=True)
        return code

    def ended_well(self, code):
        return code == (-signal.SIGKILL if self.ending == "killed" else 3)

    def lines(self):
        return self._errors.read_text(errors="replace").splitlines() if self._errors.exists() else []


def variables_of_rank(rank, epoch, load, rings, out):
    """As torchrun with its restarts, or as Open MPI sets them."""
    own = {"LD_PRELOAD": LIBRARY, "TRACEAGENT_RING_FOLDER": rings, "TRACEAGENT_RING_SIZE": load.ring_size(rank, epoch),
           "TRACEAGENT_RUN_NAME": "soak", "TRACEAGENT_OUTPUT_FOLDER": out, "TRACEAGENT_STEP_MARK":
           "call:cudaDeviceSynchronize", "TRACEAGENT_SCHEDULE": load.schedule(),
           "TRACEAGENT_MERGE_MODE": "exit" if epoch.merges else "off", **load.budget}
    if epoch.number % 2 == 0:
        return variables_of(**own, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=load.ranks, LOCAL_WORLD_SIZE=load.ranks,
                            GROUP_RANK=0, TORCHELASTIC_RUN_ID=f"soak{os.getpid()}",
                            TORCHELASTIC_RESTART_COUNT=epoch.number)
    return variables_of(**own, OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_LOCAL_RANK=rank,
                        OMPI_COMM_WORLD_SIZE=load.ranks, OMPI_COMM_WORLD_LOCAL_SIZE=load.ranks,
                        OMPI_COMM_WORLD_NODE_RANK=rank, PMIX_RANK=rank,
                        PMIX_NAMESPACE=f"soak-{os.getpid()}@{epoch.number}")


def tool(words, rings, folder):
    """`traceagent ...`: (exit code, its output and errors)."""
    with open(folder / "tool.out", "w+b") as out:
        process = subprocess.Popen([TRACEAGENT, *map(str, words)], env=variables_of(TRACEAGENT_RING_FOLDER=rings),
                                   cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
        try:
            code = process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            code = "hangs"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        return code, out.read().decode(errors="replace")
