"""A job of several nodes whose clocks are known, and what is true of their times in a merged trace."""

import json
import math
import random

from merge_model import File

START_NS = 1_700_000_000_000_000_000
PIDS_OF_CLAIM = 1_000_000  # agent/trace/process_ids.hpp


class Clock:
    def __init__(self, offset_ns=0, drift=0.0):
        self.offset_ns, self.drift = offset_ns, drift

    def at(self, since_ns):
        return START_NS + round(since_ns + self.offset_ns + self.drift * since_ns)


class Job:
    """Ranks come to each collective up to some milliseconds apart, another one last each time; from then on it takes
    5 to 500 us (many small, few large), and the ranks end up to 3 us apart."""

    def __init__(self, seed, nodes=8, ranks_per_node=1, collectives=1000, seconds=100, late_ns=400e3, same_clock=False):
        chance = random.Random(seed)
        self.seconds, self.ranks_per_node = seconds, ranks_per_node
        self.clocks = [Clock() if same_clock else Clock(chance.uniform(-5e9, 5e9), chance.uniform(-50e-6, 50e-6))
                       for _ in range(nodes)]
        self.spans = [[] for _ in range(nodes * ranks_per_node)]  # by rank: true begin and end of each collective
        for number in range(collectives):
            due_ns = seconds * 1e9 * (number + chance.uniform(0, 0.5)) / collectives
            begins = [due_ns + chance.expovariate(1 / late_ns) for _ in self.spans]
            until_ns = max(begins) + 5e3 * math.exp(chance.uniform(0, math.log(100)))
            for spans, begin_ns in zip(self.spans, begins):
                spans.append((begin_ns, until_ns + chance.uniform(0, 3e3)))

    def events(self, rank, base_ns, **names):
        clock = self.clocks[rank // self.ranks_per_node]
        for number, (begin_ns, end_ns) in enumerate(self.spans[rank]):
            begin, end = clock.at(begin_ns), clock.at(end_ns)
            yield {"ts": begin - base_ns, "dur": end - begin, "ph": "X", "cat": "kernel", "name": "ncclDevKernel",
                   "pid": rank, "tid": 7, "args": {"Collective name": "allreduce", "Seq": number, "In msg nelems": 64,
                                                   "Group size": len(self.spans), **names}}

    def write_own(self, folder):
        """A file of each rank in our own form."""
        for rank in range(len(self.spans)):
            node = rank // self.ranks_per_node
            base_ns = self.clocks[node].at(0)
            File(folder / f"rank{rank}.json", rank, base_ns,
                 list(self.events(rank, base_ns, **{"comm hash": "0xc0ffee"})), node).write()
        return sorted(folder.glob("*.json"))

    def write_pytorch(self, folder, name="rank{}.json"):
        """As PyTorch's profiler writes them: nothing says on which node."""
        ranks = list(range(len(self.spans)))
        for rank in ranks:
            events = [{**event, "ts": event["ts"] / 1000, "dur": event["dur"] / 1000, "pid": 0} for event in
                      self.events(rank, START_NS, **{"Process Group Name": "0", "Process Group Ranks": str(ranks)})]
            (folder / name.format(rank)).write_text(json.dumps({
                "schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(ranks)},
                "deviceProperties": [], "baseTimeNanoseconds": START_NS, "traceEvents": events}))
        return sorted(folder.glob("*.json"))


def untrue(job, document):
    """What the merged trace says of the times of collectives and is not so, outside of the times said to be unsure."""
    base_ns = document["baseTimeNanoseconds"]
    nodes = {rank: about for about in document["traceagent"]["clocks"]["nodes"] for rank in about["ranks"]}
    for event in document["traceEvents"]:
        if event["ph"] != "X":
            continue
        rank = event["pid"] % PIDS_OF_CLAIM
        true_ns = job.spans[rank][event["args"]["Seq"]][0]
        own_ns = job.clocks[rank // job.ranks_per_node].at(true_ns)
        off_ns = abs(base_ns + round(event["ts"] * 1000) - job.clocks[0].at(true_ns))
        bound_ns = nodes[rank]["bound_ns"]
        if bound_ns is not None and off_ns > bound_ns and not any(part["from_ns"] <= own_ns <= part["until_ns"]
                                                        for part in nodes[rank].get("unsure", ())):
            yield f"rank {rank} is {off_ns} ns off at {own_ns}: {nodes[rank]}"
            return


def unsure_share(job, about):
    """Of the job's time."""
    return sum(part["until_ns"] - part["from_ns"] for part in about.get("unsure", ())) / (job.seconds * 1e9)
