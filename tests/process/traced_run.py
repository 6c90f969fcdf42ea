"""A program of several ranks on the simulated GPU, traced, with the simulator's truth beside it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from places import BUILD, NO_LIMIT, need
from trace_file import Trace
from truth import Truth

RUN = BUILD / "bin/traceagent-run"
MPIRUN = ["mpirun", "--oversubscribe", "-n"]
TIMEOUT_S = 200
LAUNCHER_VARIABLES = re.compile(
    r"TRACEAGENT_|OMPI_|PMI|SLURM_|TORCHELASTIC_|SIMGPU_|(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|"
    r"GROUP_RANK|MASTER_ADDR|MASTER_PORT|LD_PRELOAD)$")


def variables_of(folder, **more):
    """The environment of a traced program in `folder`; the run has a fixed name."""
    kept = {key: value for key, value in os.environ.items() if not LAUNCHER_VARIABLES.match(key)}
    kept |= {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti", "TRACEAGENT_RUN_NAME": "run",
             "SIMGPU_TRUTH": f"{folder}/{{rank}}-{{pid}}.truth",
             # mpirun refuses root otherwise, and containers are root.
             "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             # Where CUPTI's thread gets no core for seconds, its records come as late, and none may be missing.
             "TRACEAGENT_DEVICE_SETTLE": "60s", **NO_LIMIT}
    return kept | {key: str(value) for key, value in more.items()}


class TracedRun:
    """What a run left in its folder."""

    def __init__(self, folder, out, err):
        self.folder, self.out, self.err = folder, out, err

    @property
    def traces(self):
        return self.folder / "run/traces"

    def files(self):
        return sorted(path.name for path in self.traces.iterdir() if path.is_file())

    def index(self):
        return json.loads((self.traces / "index/index.json").read_text())["entries"]

    def trace(self, name="node0.json"):
        return Trace(self.traces / name)

    def truth(self):
        return Truth(self.folder.glob("*.truth"))


def run_ranks(folder, ranks, command, **environment):
    """Under mpirun and traceagent-run; raises where the program does not end well."""
    need(shutil.which("mpirun") or "/none", "mpirun")
    words = [*MPIRUN, str(ranks), RUN, *command]
    return run_command(folder, words, variables_of(folder, **environment))


def run_command(folder, words, variables):
    """Its rings lie in a folder of their own, which must be empty again at the end: what stays is this run's."""
    with tempfile.TemporaryDirectory(prefix="traceagent-test-", dir="/dev/shm") as rings:
        code, out, err = end_of([str(word) for word in words], folder, {"TRACEAGENT_RING_FOLDER": rings, **variables})
        left = sorted(str(path.relative_to(rings)) for path in pathlib.Path(rings).rglob("*"))
    if code != 0:
        raise RuntimeError(f"{words} ended with {code}: {out}{err}")
    if left:
        raise RuntimeError(f"{words} left in memory: {left}: {err}")
    return TracedRun(pathlib.Path(folder), out, err)


def end_of(words, folder, variables):
    process = subprocess.Popen(words, cwd=folder, env=variables, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        out, err = process.communicate()
        return f"no end within {TIMEOUT_S} s", out, err


def kill_session(session):
    """mpirun's ranks have process groups of their own, and it is no use to ask one that hangs."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[3] == str(session):
                os.kill(int(stat.parent.name), signal.SIGKILL)


def report(test):
    """Runs a generator of problems in a folder of its own; the test's exit code."""
    with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
        problems = list(test(pathlib.Path(folder)))
        if problems and os.environ.get("KEEP_FAILED"):
            shutil.copytree(folder, os.environ["KEEP_FAILED"], dirs_exist_ok=True)
    print(*problems[:20], sep="\n")
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)
