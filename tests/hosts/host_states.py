"""A host in each state of the agent, and the table of it that tests/run prints."""
import pathlib
import sys

from host_run import TracedPlace
from places import BUILD

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transparency"))
import states  # noqa: E402
import verdicts  # noqa: E402

# As of the programs of tests/transparency; active: as the host's own test has it.
MORE = {"off": states.STATES["off"],
        "waiting": {"TRACEAGENT_SCHEDULE": states.STATES["waiting"]["TRACEAGENT_SCHEDULE"],
                    "TRACEAGENT_STEP_MARK": "call:cudaMalloc"},
        "active": {},
        "failing": {key: states.STATES["failing"][key] for key in ("TRACEAGENT_RING_FOLDER", "TRACEAGENT_OUTPUT_FOLDER")}}


class StatePlace(TracedPlace):
    def __init__(self, name, state):
        super().__init__(name)
        self.state = state

    def variables(self, **more):
        return super().variables(**more) | MORE[self.state]

    def state_problems(self):
        """What shows that the agent was in that state, and what it left. A worker that was killed leaves a ring."""
        if self.state == "active":
            yield from self.problems(wants_traces=True)
        elif self.state == "waiting":
            yield from (f"left behind: {path.name}" for path in self.rank_files())
        else:
            yield from self.problems(wants_traces=False)


def write_table(test, rows):
    """rows: {name: {"absent": what the host returned, state: "same" or another word}}; "-": not run."""
    listed = [(name, *(str(row.get(state, "-")) for state in states.STATES)) for name, row in rows.items()]
    folder = BUILD / "tests/tables"
    folder.mkdir(parents=True, exist_ok=True)
    text = verdicts.table(listed, [])
    (folder / f"hosts-{test}.txt").write_text(text)
    print(text, end="", flush=True)
