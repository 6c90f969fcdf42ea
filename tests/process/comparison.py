"""Compares a trace with the simulator's truth, call by call."""

import bisect

from truth import shown_name

CLOCK_ERROR_NS = 1000
COPY_KINDS = ["HtoH", "HtoD", "DtoH", "DtoD", "default"]
DATA_TYPES = ["Char", "Byte", "Int", "UInt32", "Long", "UInt64", "Half", "Float", "Double", "BFloat16",
              "Float8_e4m3fn", "Float8_e5m2"]
IN_PROGRESS = 7  # ncclInProgress; of CUDA's calls no test's
REDUCTIONS = ["sum", "prod", "max", "min", "avg"]


class Comparison:
    """Pairs the events of a thread and window with the truth's calls: one unbroken run of them.

    A call begins for the agent a moment before it begins for the simulator, so that the call at
    either end of a run may lie on the window's edge; those are counted in `edge_calls`. The main
    thread has none: it made the edge.
    """

    def __init__(self, trace, truth):
        self.trace = trace
        self.pairs, self.problems, self.edge_calls, self.in_flight = [], [], 0, 0
        self.main_threads = {about["identity"]["pid"] for about in trace.about}
        events, calls = trace.calls(), truth.calls()
        for lane in sorted(events.keys() | calls.keys()):
            left = events.get(lane, [])
            for window in trace.windows(lane[0]):
                inside = [event for event in left if window[0] <= trace.begin_ns(event) < window[1]]
                left = [event for event in left if event not in inside]
                self._compare(lane, window, inside, calls.get(lane, []))
            self.problems += [f"{lane}: in no window: {event}" for event in left]

    def _compare(self, lane, window, events, calls):
        begins = [call["begin_ns"] for call in calls]
        first = bisect.bisect_left(begins, window[0])
        end = bisect.bisect_left(begins, window[1])
        if events:
            start = self._place_of(events[0], calls, begins)
            self._pair(lane, events, calls[start:start + len(events)])
            self._count_edge(lane, "begin", start - first, calls[first:start])
            self._count_edge(lane, "end", start + len(events) - end, calls[start + len(events):end])
        elif end > first:
            self._count_edge(lane, "whole", end - first, calls[first:end])

    def _place_of(self, event, calls, begins):
        """Of the calls around its begin the nearest of the same name that is not before it: the call that opens a window
        may take longer to do so than a short step takes."""
        begin = self.trace.begin_ns(event)
        middle = bisect.bisect_left(begins, begin)
        near = range(max(middle - 3, 0), min(middle + 3, len(calls)))
        named = [i for i in near if shown_name(calls[i]["function"]) == event["name"]]
        later = [i for i in named if begins[i] >= begin - CLOCK_ERROR_NS]
        return min(later or named or near, key=lambda i: abs(begins[i] - begin), default=0)

    def _pair(self, lane, events, calls):
        for event, call in zip(events, calls):
            if event["name"] != shown_name(call["function"]):
                self.problems.append(f"{lane}: the calls part here: {event} was {call}")
                return
            if "in flight" in event["args"]:
                self._check_in_flight(event, call)
            else:
                self.pairs.append((event, call))
        if len(calls) < len(events):
            self.problems.append(f"{lane}: not in the truth: {events[len(calls)]}")

    def _check_in_flight(self, event, call):
        """The file was written while the call still ran: it cannot tell its end or result."""
        self.in_flight += 1
        if "result" in event["args"] or call["end_ns"] < self.trace.end_ns(event):
            self.problems.append(f"not in flight: {event}, {call}")

    def _count_edge(self, lane, where, count, calls):
        self.edge_calls += abs(count)
        is_main = lane[1] in self.main_threads
        if abs(count) > (0 if is_main else 1):
            self.problems.append(f"{lane}: {count} calls at the window's {where}: {calls[:3]}")

    def errors_ns(self):
        """[(how much earlier the event begins, how much later it ends)] than the truth's call."""
        return [(call["begin_ns"] - self.trace.begin_ns(event), self.trace.end_ns(event) - call["end_ns"])
                for event, call in self.pairs]


def argument_problems(pairs):
    """The arguments that both sides know."""
    hashes, simulated = {}, {}
    for event, call in pairs:
        for key, shown, true in _arguments(event["args"], call):
            if shown != true:
                yield f"{event['name']}: {key} is {shown}, was {true}: {event}"
        # A split shows the communicator that it made, the simulator the one that was split.
        if "comm hash" in event["args"] and call.get("comm") and event["name"] != "ncclCommSplit":
            hashes.setdefault(call["comm"], event["args"]["comm hash"])
            simulated.setdefault(event["args"]["comm hash"], call["comm"])
            if hashes[call["comm"]] != event["args"]["comm hash"] or \
                    simulated[event["args"]["comm hash"]] != call["comm"]:
                yield f"communicators are mixed up: {event}, {call}"


def _arguments(args, call):
    yield "result", args.get("result"), call["result"]
    if call["result"] not in (0, IN_PROGRESS):  # of what it refused, the simulator keeps not all
        return
    if "stream" in args:
        yield "stream", int(args["stream"], 16), call["stream"]
    if "bytes" in args and call["bytes"]:
        yield "bytes", args["bytes"], call["bytes"]
    if "kind" in args:
        yield "kind", args["kind"], COPY_KINDS[call["copy_kind"]]
    if "grid" in args:
        yield "grid", args["grid"], call["grid"]
        yield "block", args["block"], call["block"]
        yield "shared memory", args["shared memory"], call["shared_bytes"]
        yield "kernel", args.get("kernel"), call["name"]
    if "Collective name" in args:
        yield from _collective_arguments(args, call)


def _collective_arguments(args, call):
    if args["Collective name"] not in ("send", "recv"):  # numbered by the simulator after the call
        yield "Seq", args["Seq"], call["seq"]
    yield "dtype", args["dtype"], DATA_TYPES[call["dtype"]]
    yield "Group size", args["Group size"], call["comm_size"]
    yield "comm rank", args["comm rank"], call["comm_rank"]
    reductions = dict(enumerate(REDUCTIONS)) | {-1: None}
    yield "reduction", args.get("reduction"), reductions.get(call["op"], "user")
    peer = args.get("root", args.get("Dst Rank", args.get("Src Rank", -1)))
    yield "root or peer", peer, call["peer"]
    if args["Collective name"] in ("allreduce", "broadcast", "reduce", "send", "recv"):
        yield "In msg nelems", args["In msg nelems"], call["count"]
        yield "Out msg nelems", args["Out msg nelems"], call["count"]
