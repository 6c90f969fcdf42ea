"""A host program without the agent and with it: folders, variables, and what the traces must be."""

import collections
import json
import os
import pathlib
import re
import tempfile

import process_modules  # noqa: F401
from places import BUILD, LIBRARY

# The simulated CUPTI is not beside its libcudart; without it each process would say so.
CUPTI_FOLDER = BUILD / "sim/cupti"
SIMULATED_CUDART = BUILD / "sim/lib/libcudart.so.13"
FOREIGN = re.compile(r"(TRACEAGENT_|OMPI_|PMI|MPI_|SLURM_|TORCHELASTIC_|SIMGPU_|HYDI?_|GFORTRAN_|PYTHON|"
                     r"CUDA_|NCCL_|NVTX_)|(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|GROUP_RANK|"
                     r"MASTER_ADDR|MASTER_PORT|LD_PRELOAD|LD_LIBRARY_PATH)$")


def bare_variables(**more):
    kept = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
    kept["LD_LIBRARY_PATH"] = str(CUPTI_FOLDER)
    return kept | {key: str(value) for key, value in more.items()}


class TracedPlace:
    """Folders outside the program's own, so that it sees nothing of ours."""

    def __init__(self, name):
        self._folders = [tempfile.TemporaryDirectory(prefix=f"traceagent-{name}-"),
                         tempfile.TemporaryDirectory(prefix=f"traceagent-{name}-", dir="/dev/shm")]
        self.traces, self.rings = (pathlib.Path(folder.name) for folder in self._folders)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in self._folders:
            folder.cleanup()

    def variables(self, **more):
        # Many processes, few calls; who is left alone by a test must not be waited for long.
        return bare_variables(**{"LD_PRELOAD": LIBRARY, "TRACEAGENT_OUTPUT_FOLDER": f"{self.traces}/{{run_name}}",
                                 "TRACEAGENT_RING_FOLDER": self.rings, "TRACEAGENT_RING_SIZE": "1MiB",
                                 "TRACEAGENT_QUIET": "1", "TRACEAGENT_MERGE_TIMEOUT": "10s",
                                 # Never called: there are no steps, and all from the start is kept.
                                 "TRACEAGENT_STEP_MARK": "call:cudaDeviceReset", **more})

    def rank_files(self):
        return sorted(self.traces.glob("*/ep*.json"))

    def problems(self, wants_traces):
        """Every file must be whole, and the node's must hold every process that has one."""
        if not wants_traces:
            yield from (f"left behind: {path.name}" for path in self.traces.iterdir())
            yield from (f"left behind: {path}" for path in self.rings.rglob("*"))
            return
        if not self.rank_files():
            yield "no rank file"
        for folder in self.traces.iterdir():
            yield from (f"{problem} in {folder.name}" for problem in _problems_of_node(folder))

    def killed(self):
        """How many files were recovered from processes that were killed: those are not complete."""
        return sum(not is_complete(path) for path in self.rank_files())


def is_complete(path):
    return json.loads(path.read_text()).get("complete") is True


def _share_numbers(ranks):
    """Two processes are one lane's."""
    identities = [json.loads(path.read_text())["traceagent"]["identity"] for path in ranks]
    processes = {(identity["trace_pid"], identity["pid"]) for identity in identities}
    return len({trace_pid for trace_pid, _ in processes}) != len(processes)


def _problems_of_node(folder):
    """Its file must hold every process that has one, and be complete if they are."""
    ranks, nodes = sorted(folder.glob("ep*.json")), sorted(folder.glob("node*.json"))
    if len(nodes) != 1:
        yield f"{len(ranks)} rank files, node files {[path.name for path in nodes]}"
        return
    # Of processes that follow each other under one number the node's file says so.
    is_whole = all(map(is_complete, ranks)) and not _share_numbers(ranks)
    if is_complete(nodes[0]) != is_whole:
        yield f"complete: ranks {list(map(is_complete, ranks))}, node {is_complete(nodes[0])}"
    counts = [collections.Counter(event["name"] for event in json.loads(path.read_text())["traceEvents"]
                                  if event["ph"] == "X" and event["cat"] == "cuda_runtime")
              for path in [*ranks, nodes[0]]]
    if sum(counts[:-1], collections.Counter()) != counts[-1]:
        yield f"calls of the ranks {counts[:-1]}, of the node {counts[-1]}"
