"""What a case works with: runs bare and traced in a folder of its own, and the row it fills."""

import os
import pathlib
import re
import subprocess
import sys
import time

from suite import rings
from suite.case import Row, Skip
from suite.programs import PROGRAMS
from suite.trace import Trace, rank_files

OURS = re.compile(r"TRACEAGENT_|OMPI_|PMI|SLURM_|TORCHELASTIC_|(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|"
                  r"MASTER_ADDR|MASTER_PORT|LD_PRELOAD)$")
# Step 0 of the suite's programs is warm-up and waits until CUPTI is on.
TWO_STEPS = {"TRACEAGENT_STEP_MARK": "nvtx:step",
             "TRACEAGENT_SCHEDULE": "skip_first=0,wait=0,warmup=1,active=2,repeat=1",
             "TRACEAGENT_BUDGET_OVERHEAD": "0",  # numbers are compared: nothing may be left out
             "TRACEAGENT_EXIT_TIMEOUT": "30s", "TRACEAGENT_DEVICE_BUFFERS": "64MiB", "TRACEAGENT_DEVICE_SETTLE": "5s"}


class Ended:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def agent_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("traceagent: ")]

    def __str__(self):
        return f"exit code {self.code}, {self.out[-300:]!r}, {self.err[-900:]!r}"


class Bench:
    """rings_beside: /dev/shm is too small, rings lie in each run's folder."""

    def __init__(self, machine, agent, compiler, folder, rings_beside=False):
        self.machine, self.agent, self.compiler, self._rings_beside = machine, agent, compiler, rings_beside
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.simulated = machine.simulate is not None
        self.row = Row()
        self._runs = 0

    def source(self, name):
        return PROGRAMS / name

    def python(self, name, *words):
        return [sys.executable, PROGRAMS / name, *words]

    def need_gpu(self, why="PyTorch's CUDA"):
        if self.simulated:
            raise Skip(f"{why}: not simulated")

    def variables(self, **more):
        kept = {key: value for key, value in os.environ.items() if not OURS.match(key)}
        kept |= {"GPU_SETTLE_S": "0.5" if self.simulated else "3", "PYTHONDONTWRITEBYTECODE": "1",
                 "OMP_NUM_THREADS": "2", "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONWARNINGS": "ignore"}
        return kept | {key: str(value) for key, value in more.items()}

    def cuda_variables(self, **more):
        """For programs that nvcc made; Python frameworks find their own libraries."""
        found = ":".join(filter(None, [self.machine.library_path(), os.environ.get("LD_LIBRARY_PATH", "")]))
        return self.variables(**{"LD_LIBRARY_PATH": found, **more})

    def traced(self, variables, folder, **options):
        ring_mib = rings.SIMULATED_MIB if self.simulated else rings.REAL_MIB
        ring = {"TRACEAGENT_RING_SIZE": f"{ring_mib}MiB"}
        if self._rings_beside:
            (folder / "rings").mkdir(exist_ok=True)
            ring["TRACEAGENT_RING_FOLDER"] = str(folder / "rings")
        if self.machine.has_unsafe_cupti:
            ring["TRACEAGENT_DEVICE_UNSAFE_CUPTI"] = "true"
        return variables | {"LD_PRELOAD": str(self.agent.library), "TRACEAGENT_RUN_NAME": "run",
                            "TRACEAGENT_OUTPUT_FOLDER": str(folder / "traces"), **TWO_STEPS, **ring,
                            **{key: str(value) for key, value in options.items()}}

    def new_folder(self, name):
        self._runs += 1
        folder = self.folder / f"{self._runs}-{name}"
        folder.mkdir(parents=True)
        return folder

    def start(self, command, variables, folder, stdin=subprocess.DEVNULL):
        return subprocess.Popen([str(word) for word in command], env=variables, cwd=folder, stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def start_talking(self, command, variables, folder, errors):
        return subprocess.Popen([str(word) for word in command], env=variables, cwd=folder, stderr=errors,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end_of(self, process, limit_s=300):
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = "timeout"
        return Ended(code, out, err, time.monotonic() - begin)

    def run(self, command, variables, folder=None):
        return self.end_of(self.start(command, variables, folder or self.new_folder("bare")))

    def both(self, command, variables, **options):
        """(bare, traced, the traced run's folder); checks that nobody can tell them apart."""
        bare = self.run(command, variables)
        if bare.code == 77:
            raise Skip(f"{pathlib.Path(str(command[0])).name} says that it cannot run here")
        if bare.code != 0:
            raise RuntimeError(f"it fails without the agent too: {bare}")
        folder = self.new_folder("traced")
        traced = self.run(command, self.traced(variables, folder, **options), folder)
        self.same(bare, traced)
        return bare, traced, folder

    def same(self, bare, traced):
        self.row.check(bare.out == traced.out, f"stdout differs: bare {bare.out[-300:]!r}, traced {traced}")
        self.row.check(bare.code == traced.code, f"exit code: bare {bare.code}, traced {traced}")

    def rank_file(self, folder, rank=0):
        files = [path for path in rank_files(folder / "traces") if f"rank{rank}." in path.name]
        if not self.row.check(len(files) == 1, f"rank {rank} left {[path.name for path in files]}, not one file"):
            return None
        return Trace(files[0])

    def check_trace(self, trace):
        """What holds for every file of ours. Returns whether it has CUPTI's device times."""
        row = self.row
        row.check(trace.document.get("complete"), "the file does not say complete")
        row.check(not trace.dropped(), f"dropped {trace.dropped()}")
        answer = self.run([self.agent.tool, "check", trace.path], self.variables())
        missing = [line.strip() for line in answer.out.splitlines() if line.startswith("  NO ")]
        row.add_problems(f"traceagent check: {line}" for line in missing)
        row.check("Rank " in answer.out, f"traceagent check: {answer}")
        if not row.check(trace.device_source() == "cupti", f"device times from {trace.device_source()}, not CUPTI"):
            return False
        row.add_problems(trace.device_problems())
        if early := trace.early_work():
            row.note(f"{len(early)} of {len(trace.device_work())} pieces of work seem to start before their call, "
                     f"by up to {max(early):.3f} us: no arrow to these")
        return True

    def check_expected(self, trace, out):
        """The program's own lines "expect kernel NAME COUNT BYTES" against the trace."""
        kernels, copies = trace.kernels(), trace.copies()
        wanted = [line.split()[1:] for line in out.splitlines() if line.startswith("expect ")]
        found_all = 0
        for kind, name, count, size in wanted:
            if kind == "kernel":
                found, meant = kernels.get(name, 0), int(count)
            else:
                found, meant = copies.get(f"{kind} {name}", (0, 0)), (int(count), int(size))
            self.row.check(found == meant, f"{kind} {name}: {found} in the trace, {meant} in truth")
            found_all += int(count) if found == meant else 0
        self.row.check(wanted, "the program stated no expectation")
        self.row.figure("device work", f"{found_all} of {sum(int(words[2]) for words in wanted)}")
