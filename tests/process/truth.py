"""The simulated GPU's truth of a run, in the words of the trace."""

import collections
import json
import re
import subprocess

from places import BUILD, SOURCE

API = SOURCE / "agent/api"
VARIANTS = re.compile(r"_pt[sd][sz]$")


def hooked_functions():
    """Every symbol the doors wrap, from the agent's own tables."""
    names = set()
    for variant, name in re.findall(r"^CUDART\(\w+, (\w+), (\w+),", (API / "cuda_runtime.def").read_text(), re.M):
        names |= {name} if variant == "plain" else {name, f"{name}_{variant}"}
    return names | set(re.findall(r"^NCCL\((\w+),", (API / "nccl.def").read_text(), re.M))


def shown_name(function):
    return VARIANTS.sub("", function).removeprefix("__")


class Truth:
    def __init__(self, files):
        lines = subprocess.run([str(BUILD / "bin/simgpu-truth"), *map(str, files)], check=True, text=True,
                               capture_output=True).stdout.splitlines()
        self.records = [json.loads(line) for line in lines]
        self._hooked = hooked_functions()

    def calls(self):
        """{(rank, tid): [call]} of hooked functions, by begin."""
        calls = collections.defaultdict(list)
        for record in self.records:
            if record["kind"] == "call" and record["function"] in self._hooked:
                calls[record["rank"], record["tid"]].append(record)
        return calls

    def marks(self, rank, name):
        """{count: begin_ns} of the program's own marks."""
        return {record["count"]: record["begin_ns"] for record in self.records
                if record["kind"] == "mark" and record["rank"] == rank and record["name"] == name}
