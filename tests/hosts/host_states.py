"""A host in each state of the agent, and the table of it that tests/run prints."""
import pathlib
import sys
import tempfile

from host_run import TracedPlace
from places import BUILD, LIBRARY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transparency"))
import states  # noqa: E402
import verdicts  # noqa: E402

# As of the programs of tests/transparency; active: as the host's own test has it.
MORE = {"off": states.STATES["off"],
        "waiting": {"TRACEAGENT_SCHEDULE": states.STATES["waiting"]["TRACEAGENT_SCHEDULE"],
                    "TRACEAGENT_STEP_MARK": "call:cudaMalloc"},
        "active": {},
        "failing": {key: states.STATES["failing"][key] for key in ("TRACEAGENT_RING_FOLDER", "TRACEAGENT_OUTPUT_FOLDER")}}

# Where a process that called has its ring.
RING = {"off": "none", "waiting": "file", "active": "file", "failing": "memory"}


class StatePlace(TracedPlace):
    def __init__(self, name, state):
        super().__init__(name)
        self.state = state
        self._folders.append(tempfile.TemporaryDirectory(prefix=f"traceagent-{name}-"))
        self.written_down = pathlib.Path(self._folders[-1].name)

    def variables(self, **more):
        # The lines are a proof: what is off says none, and what fails says why.
        return super().variables(**more) | {"TRACEAGENT_QUIET": "0", "HOST_MAPPED": str(self.written_down)} | MORE[self.state]

    def state_problems(self, ended, processes):
        """What does not show that the agent was in that state, in each process that called and in as many as are wanted,
        and what it left."""
        yield from self._problems_of_files()
        yield from self._problems_of_processes(processes)
        lines = ended.agent_lines()
        if self.state == "off" and lines:
            yield f"it says something: {lines}"
        if self.state == "failing" and not any("/proc/no-such-folder" in line for line in lines):
            yield f"nothing shows that it failed: {lines}"

    def _problems_of_files(self):
        """A worker that was killed leaves a ring."""
        if self.state == "active":
            yield from self.problems(wants_traces=True)
        elif self.state == "waiting":
            yield from (f"left behind: {path.name}" for path in self.rank_files())
        else:
            yield from self.problems(wants_traces=False)

    def _problems_of_processes(self, wanted):
        written = sorted(self.written_down.glob("*.mapped"))
        if len(written) < wanted:
            yield f"{len(written)} processes said what they have mapped, {wanted} wanted"
        for path in written:
            names = path.read_text().splitlines()
            ring = self._ring_of(path.stem, names)
            if str(LIBRARY.resolve()) not in names:
                yield f"process {path.stem}: the agent is not in it"
            if ring != RING[self.state]:
                yield f"process {path.stem}: ring: {ring}, wanted: {RING[self.state]}"

    def _ring_of(self, pid, names):
        """A forked child has its parent's mapped too."""
        if any(name.startswith(f"{self.rings}/") and f"-{pid}-" in pathlib.Path(name).name for name in names):
            return "file"
        return "memory" if any(name.startswith("/memfd:traceagent-ring") for name in names) else "none"


def write_table(test, rows):
    """rows: {name: {"absent": what the host returned, state: "same" or another word}}; "-": not run."""
    listed = [(name, *(str(row.get(state, "-")) for state in states.STATES)) for name, row in rows.items()]
    folder = BUILD / "tests/tables"
    folder.mkdir(parents=True, exist_ok=True)
    text = verdicts.table(listed, [])
    (folder / f"hosts-{test}.txt").write_text(text)
    print(text, end="", flush=True)
