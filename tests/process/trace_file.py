"""A trace file as the agent writes it, and what must hold for every one of them."""

import collections
import gzip
import json

STEPS_TID = 4_900_000
SPILL = 10_000_000


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class Trace:
    def __init__(self, path):
        opened = gzip.open if path.name.endswith(".gz") else open
        with opened(path, "rt") as file:
            self.document = json.load(file)
        self.base_ns = self.document["baseTimeNanoseconds"]
        self.events = [event for event in self.document["traceEvents"] if event["ph"] != "M"]
        about = self.document["traceagent"]
        self.about = about.get("merged", [about])

    def ranks(self):
        return sorted({rank["identity"]["rank"] for rank in self.about})

    def windows(self, rank):
        """[(begin_ns, end_ns, first step, last step)] of the rank's cycles, by cycle; before any step None."""
        windows = sorted((about["window"] for about in self.about if about["identity"]["rank"] == rank),
                         key=lambda window: window["cycle"])
        return [(w["begin_ns"], w["end_ns"], w.get("first_step"), w.get("last_step")) for w in windows]

    def begin_ns(self, event):
        return self.base_ns + nanoseconds(event["ts"])

    def end_ns(self, event):
        return self.begin_ns(event) + nanoseconds(event["dur"])

    def calls(self):
        """{(rank, tid): [event]} of hooked functions, by begin; spill lanes with their thread."""
        calls = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "nccl") and "seen by" not in event["args"]:
                calls[event["pid"], event["tid"] % SPILL].append(event)
        return calls

    def steps(self, rank):
        """{step: (begin_ns, end_ns)}; a step that occurs twice is an error."""
        steps = {}
        for event in self.events:
            if event["pid"] == rank and event["tid"] == STEPS_TID and event["ph"] == "X":
                step = event["args"]["step"]
                assert event["name"] == f"ProfilerStep#{step}" and step not in steps, event
                steps[step] = (self.begin_ns(event), self.end_ns(event))
        return steps

    def problems(self):
        if not self.document.get("complete"):
            yield "the file is not complete"
        times = [event["ts"] for event in self.events]
        if times != sorted(times):
            yield "not sorted by ts"
        yield from self._nesting_problems()
        for about in self.about:
            if about["dropped"]:
                yield f"rank {about['identity']['rank']} dropped {about['dropped']}"

    def _nesting_problems(self):
        open_ends = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] != "X":
                continue
            ends = open_ends[event["pid"], event["tid"]]
            begin, end = self.begin_ns(event), self.end_ns(event)
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and end > ends[-1]:
                yield f"{event['name']} at {event['ts']} runs out of what encloses it"
            ends.append(end)
