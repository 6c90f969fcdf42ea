"""The counters of a trace, by name, and what they add up to."""

import re
from collections import defaultdict


def counters_of(trace):
    """pid, name -> [(ts in seconds, args)]"""
    found = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            found[event["pid"], event["name"]].append((event["ts"] / 1e6, event["args"]))
    return found


def total(samples, end_s, series=None):
    """What the rates of all series, or of one, add up to."""
    times = [ts for ts, _ in samples[1:]] + [end_s]
    return sum((sum(args.values()) if series is None else args.get(series, 0)) * (until - ts)
               for (ts, args), until in zip(samples, times))


def facts(trace, rank=0):
    metadata = trace["traceagent"]
    return metadata if "window" in metadata else metadata["ranks"][rank]


def rank_trace(place, rank=0):
    name = next(name for name in place.files() if re.search(rf"rank{rank}.*\.json$", name))
    return place.trace(name)


def begin_s_of(trace):
    """On the file's own time line, which begins with its first event: that may be a little before its window."""
    return (facts(trace)["window"]["begin_ns"] - trace["baseTimeNanoseconds"]) / 1e9


def window_s(trace):
    window = facts(trace)["window"]
    return (window["end_ns"] - window["begin_ns"]) / 1e9
