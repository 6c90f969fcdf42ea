"""What was sampled before a kill, by what the simulated NVML answered."""

import pathlib
import struct

from true_counters import counters_in, lies_in


class Answers:
    """How often each rank's GPU 0 has told its power: one more each time, from 0."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)

    def of_rank(self, rank):
        return {"SIMGPU_NVML": f"answers={self._folder}/answers{rank}"}

    def count(self, rank):
        path = self._folder / f"answers{rank}"
        data = path.read_bytes() if path.exists() else b""
        return struct.unpack("<Q", data)[0] if len(data) == 8 else 0


def power_numbers(samples, gpu):
    return [round(values["power"] - 100.5 * (gpu + 1)) for values in samples]


def says_none_was_read(trace, rank):
    """Windows of some ms may be over before the thread that samples gets a core."""
    told = [about.get("counters", {}).get("not_covered", []) for about in trace.about
            if about["identity"]["rank"] == rank]
    return bool(told) and all("counters: none was read in this window" in texts for texts in told)


def counter_problems(job, answers, victim):
    trace = job.trace("out/node0.json")
    if trace is None:
        return
    yield from lies_in(trace.document, is_simulated=True)
    found = counters_in(trace.document)
    strangers = {name for pid, name in found if pid != 0 and not name.startswith("process ")}
    if strangers:
        yield f"of the node, and not by local rank zero: {strangers}"
    without = [rank for rank in range(job.ranks) if rank != victim and (rank, "process memory bytes") not in found
               and not says_none_was_read(trace, rank)]
    if without:
        yield f"ranks {without} have no counters and do not say so"
    for gpu in range(2):
        yield from gap_problems(trace, found.get((0, f"GPU {gpu} power W"), []), gpu)
    shown = power_numbers([values for _, values in found.get((0, "GPU 0 power W"), [])], 0)
    answered = answers.count(0)
    # The last answer may not have come to the ring; between windows nobody asks.
    if shown and shown[-1] < answered - 2:
        yield f"GPU 0 has answered {answered} times, the last shown is number {shown[-1]}"
    if answered > 2 and not shown:
        yield f"GPU 0 has answered {answered} times, none is shown"
    if len(shown) > 2 and (0, "GPU 1 power W") not in found:
        yield f"GPU 0 is shown {len(shown)} times, GPU 1 never"


def gap_problems(trace, samples, gpu):
    """In a window every answer is there."""
    for begin, end, first, _ in trace.windows(0):
        inside = power_numbers([values for ts, values in samples
                                if begin <= trace.begin_ns({"ts": ts}) <= end], gpu)
        if inside and inside != list(range(inside[0], inside[0] + len(inside))):
            yield f"GPU {gpu}, window of step {first}: answers {inside}"
