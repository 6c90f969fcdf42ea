"""What the simulated GPU did, against the device's work in a trace: each piece of it, and its arrow."""

import bisect
import collections
import math

from comparison import Comparison

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
HOST_CATEGORIES = ("cuda_runtime", "cuda_driver", "nccl")
COPY_NAMES = ["Memcpy HtoH", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"]


def true_work(truth):
    """{rank: [device record]} of what CUPTI tells of: an NCCL kernel is one, whatever it carries out."""
    work = collections.defaultdict(list)
    for record in truth.records:
        if record["kind"] == "device" and record["work"] in ("kernel", "copy", "set", "collective") \
                and record["part"] == 0:
            work[record["rank"]].append(record)
    return work


def end_of(record):
    return record["kernel_end_ns"] or record["end_ns"]


def occupancy(record):
    """Percent, on the simulated device: 132 multiprocessors of 2,048 threads, 32 blocks, 65,536 registers
    and 233,472 bytes, of which each block costs 1,024 more than it asks for."""
    threads, blocks = (math.prod(record[key]) for key in ("block", "grid"))
    warps = -(-threads // 32)
    at_once = [2048 // 32 // warps, 32, 233472 // (-(-(record["shared_bytes"] + 1024) // 128) * 128)]
    if record["registers"]:
        at_once.append(65536 // 4 // (-(-record["registers"] * 32 // 256) * 256) * 4 // warps)
    return int(min(min(at_once), blocks / 132) * threads / 2048 * 100 + 0.5)


def gpu_slices(trace):
    """{rank: [event]}"""
    slices = collections.defaultdict(list)
    for event in trace.events:
        if event["ph"] == "X" and event["cat"] in GPU_CATEGORIES:
            slices[event["pid"]].append(event)
    return slices


def is_named(event, record):
    if record["work"] == "copy":
        return event["cat"] == "gpu_memcpy" and event["name"].startswith(COPY_NAMES[record["copy_kind"]])
    if record["work"] == "set":
        return event["cat"] == "gpu_memset" and event["name"].startswith("Memset")
    return event["cat"] == "kernel" and event["name"] == record["name"]


class DeviceComparison:
    """Pairs the trace's device slices with the truth's records by rank, name, stream and begin."""

    def __init__(self, trace, truth):
        self.trace, self.problems, self.pairs = trace, [], []
        self.calls = Comparison(trace, truth)
        self.work = true_work(truth)
        slices = gpu_slices(trace)
        for rank in sorted(self.work.keys() | slices.keys()):
            self._pair(slices[rank], self.work[rank])

    def _pair(self, slices, records):
        records = sorted(records, key=lambda record: record["begin_ns"])
        begins = [record["begin_ns"] for record in records]
        taken = set()
        for event in slices:
            begin = self.trace.begin_ns(event)
            near = range(bisect.bisect_left(begins, begin - 1), bisect.bisect_right(begins, begin + 1))
            found = [i for i in near if i not in taken and is_named(event, records[i])
                     and event["args"]["stream"] == records[i]["cupti_stream"]]
            if not found:
                self.problems.append(f"not in the truth: {event}")
                continue
            taken.add(found[0])
            self.pairs.append((event, records[found[0]]))

    def launched_here(self):
        """Records whose launch is a call of this trace: they must all be in it."""
        here = {(call["rank"], call["number"]) for _, call in self.calls.pairs}
        return [record for records in self.work.values() for record in records
                if (record["rank"], record["launch_number"]) in here]

    def missing(self, records):
        found = {id(record) for _, record in self.pairs}
        return [record for record in records if id(record) not in found]

    def value_problems(self):
        for event, record in self.pairs:
            args, shown = event["args"], (self.trace.begin_ns(event), self.trace.end_ns(event))
            if any(abs(a - b) > 1 for a, b in zip(shown, (record["begin_ns"], end_of(record)))):
                yield f"{event} was from {record['begin_ns']} to {end_of(record)}"
            expected = {"device": record["device"], "context": record["context"]}
            if record["work"] in ("copy", "set"):
                expected["bytes"] = record["bytes"]
            elif record.get("grid"):
                expected |= {"grid": record["grid"], "block": record["block"],
                             "registers per thread": record["registers"],
                             "est. achieved occupancy %": occupancy(record)}
            if record["graph_id"]:
                expected |= {"graph id": record["graph_id"], "graph node id": record["graph_node_id"]}
            wrong = {key: value for key, value in expected.items() if args.get(key) != value}
            if wrong:
                yield f"{event} should have {wrong}"

    def arrow_problems(self):
        """From the call that launched it, or from what runs inside that call on its thread."""
        host = {(event["pid"], event["args"]["correlation"]): event for event in self.trace.events
                if event["ph"] == "X" and event["cat"] in HOST_CATEGORIES}
        call_of = {(call["rank"], call["number"]): event for event, call in self.calls.pairs}
        starts, ends = self._flows("s"), self._flows("f")
        for event, record in self.pairs:
            call = call_of.get((record["rank"], record["launch_number"]))
            if call is None:
                if not event["args"].get("launched before the window"):
                    yield f"its launch is not in the trace, and it does not say so: {event}"
                continue
            origin = host.get((event["pid"], event["args"]["correlation"]))
            if origin is None or not self._is_within(origin, call):
                yield f"launched by {origin}, should be {call}: {event}"
                continue
            arrived = {flow["id"] for flow in ends[event["pid"], event["tid"], event["ts"]]}
            begun = {flow["id"] for flow in starts[origin["pid"], origin["tid"], origin["ts"]]}
            if not arrived & begun:
                yield f"no arrow from {origin} to {event}"

    def _flows(self, phase):
        flows = collections.defaultdict(list)
        for event in self.trace.events:
            if event["ph"] == phase:
                flows[event["pid"], event["tid"], event["ts"]].append(event)
        return flows

    def _is_within(self, inner, outer):
        return inner["pid"] == outer["pid"] and inner["tid"] % 10_000_000 == outer["tid"] % 10_000_000 \
            and self.trace.begin_ns(outer) <= self.trace.begin_ns(inner) \
            and self.trace.end_ns(inner) <= self.trace.end_ns(outer)


def lane_problems(trace):
    """On a device's lane nothing overlaps, not even nested; ids of arrows are used once."""
    ends = {}
    for event in trace.events:
        if event["ph"] == "X" and event["cat"] in GPU_CATEGORIES:
            lane = event["pid"], event["tid"]
            if ends.get(lane, 0) > trace.begin_ns(event):
                yield f"overlaps on its lane: {event}"
            ends[lane] = trace.end_ns(event)
    for phase in "sf":
        ids = collections.Counter(event["id"] for event in trace.events if event["ph"] == phase)
        yield from (f"{count} arrows have the id {name}" for name, count in ids.items() if count > 1)
    if {e["id"] for e in trace.events if e["ph"] == "s"} != {e["id"] for e in trace.events if e["ph"] == "f"}:
        yield "an arrow lacks its other end"
