"""Where the agent under test lies: in a carried bundle, or in a build folder."""

import os
import pathlib

from suite.machine import SOURCE, output_of

CANDIDATES = ("build/gpu_bundle", "build", "build/release")


class Agent:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.library = self.folder / "lib/libtraceagent.so"
        self.tool = self.folder / "bin/traceagent"
        self.demo = self.folder / "bin/train_demo"

    def problem(self):
        """Why it cannot be used on this machine, or nothing."""
        for path in (self.library, self.tool):
            if not path.exists():
                return f"{path} is not here"
        if not output_of(self.tool, "--version"):
            return f"{self.tool} does not run here"
        # The loader complains on the preloaded program's own standard error.
        answer = output_of("sh", "-c", 'LD_PRELOAD="$1" sh -c "echo same" 2>&1', "sh", self.library)
        return "" if answer == "same" else f"{self.library} cannot be preloaded here"

    def version(self):
        commit = self.folder / "commit.txt"
        found = output_of(self.tool, "--version").removeprefix("traceagent ")
        return f"{found}, {commit.read_text().strip()}" if commit.exists() else found


def find_agent(named=None):
    """The agent in `named`, else the first that works; (agent or None, why not)."""
    named = named or os.environ.get("TRACEAGENT_BUNDLE")
    folders = [named] if named else [SOURCE / name for name in CANDIDATES]
    problems = []
    for folder in folders:
        agent = Agent(folder)
        problem = agent.problem()
        if not problem:
            return agent, ""
        problems.append(problem)
    return None, "; ".join(problems) + ": make a bundle with tests/gpu/pack, or build here"
