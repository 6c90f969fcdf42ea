"""Runs a job of several ranks under the agent on the simulated GPU; its node file and its truth."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def skip_without(*programs):
    for program in programs:
        if shutil.which(program) is None:
            print(f"skipped: {program} is not here: run packaging/setup --tests")
            sys.exit(77)


def environment(build, folder, options):
    kept = {key: value for key, value in os.environ.items()
            if not re.match(r"TRACEAGENT_|OMPI_|PMI|SLURM_|RANK$|WORLD_SIZE$|LD_PRELOAD$", key)}
    return kept | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "LD_LIBRARY_PATH": f"{build}/sim/lib:{build}/sim/cupti",
        "SIMGPU_TRUTH": f"{folder}/{{rank}}.truth",
        "TRACEAGENT_RUN_NAME": "run",
        **options,
    }


class TracedJob:
    """`trace` is the merged node file, `truth` the simulated GPU's records of all ranks."""

    def __init__(self, build, ranks, command, **options):
        with tempfile.TemporaryDirectory(prefix="traced-job-") as folder:
            self.done = subprocess.run(
                ["mpirun", "--oversubscribe", "-n", str(ranks), f"{build}/bin/traceagent-run",
                 *command],
                cwd=folder, env=environment(build, folder, options), capture_output=True,
                stdin=subprocess.DEVNULL, text=True, timeout=100)
            files = sorted(glob.glob(f"{folder}/*.truth"))
            printed = subprocess.run([f"{build}/bin/simgpu-truth", *files], capture_output=True,
                                     text=True, check=True).stdout
            self.truth = [json.loads(line) for line in printed.splitlines()]
            nodes = glob.glob(f"{folder}/run/traces/node*.json")
            self.trace = None
            if len(nodes) == 1:
                with open(nodes[0]) as text:
                    self.trace = json.load(text)

    def problem(self):
        """What went wrong before anything can be compared, or None."""
        if self.done.returncode != 0 or self.trace is None:
            return f"exit code {self.done.returncode}: {self.done.stdout}{self.done.stderr}"
        return None

    def events(self):
        """Duration events with their begin and end in nanoseconds since the epoch."""
        base = self.trace["baseTimeNanoseconds"]
        for event in self.trace["traceEvents"]:
            if event["ph"] == "X":
                event["begin_ns"] = base + round(event["ts"] * 1000)
                event["end_ns"] = event["begin_ns"] + round(event["dur"] * 1000)
                yield event
