"""What a merged file must hold of other people's traces, by Python's JSON and exact decimals.

usage: foreign_truth.py MERGED FILE...   (by hand: counts every difference of any trace)
"""
import collections
import gzip
import json
import pathlib
import sys
from decimal import ROUND_FLOOR, Decimal, InvalidOperation

EPOCH_US = Decimal(10) ** 15  # from here on a time counts from 1970 by itself


def bytes_of(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def load(path):
    return json.loads(bytes_of(path), parse_float=Decimal)


def decimal_of(value):
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def nearest(ns):
    """Half a nanosecond goes up, also below zero: sums keep their order."""
    return int((ns + Decimal("0.5")).to_integral_value(ROUND_FLOOR))


def key_of(event, ns, duration):
    rest = {k: v for k, v in event.items() if k not in ("ts", "dur", "pid", "tid", "id", "id2", "bind_id")}
    return ns, duration, json.dumps(rest, sort_keys=True, default=str)


def events_of(path):
    """Of a foreign file that is JSON: (its base in ns or None, its events but for metadata, its metadata)."""
    document = load(path)
    is_list = isinstance(document, list)
    events = [e for e in (document if is_list else document["traceEvents"]) if isinstance(e, dict) and e]
    base = None if is_list else document.get("baseTimeNanoseconds")
    for event in events:
        start = event.get("args", {}).get("start_time_since_epoch_in_micros") if event.get("ph") == "M" else None
        base = nearest(decimal_of(start) * 1000) if start is not None and base is None else base
    timed = [e for e in events if e.get("ph") != "M" and decimal_of(e.get("ts")) is not None]
    if timed and decimal_of(timed[0]["ts"]) >= EPOCH_US:
        base = 0
    return base, timed, [e for e in events if e.get("ph") == "M"]


def foreign_keys(path, base=None):
    own_base, timed, _ = events_of(path)
    base = own_base if base is None else base
    keys = collections.Counter()
    for event in timed:
        begin = decimal_of(event["ts"]) * 1000
        duration = decimal_of(event["dur"]) * 1000 if decimal_of(event.get("dur")) is not None else None
        end = None if duration is None else nearest(begin + duration) - nearest(begin)
        keys[key_of(event, base + nearest(begin), end)] += 1
    return keys


def merged_keys(path):
    document = load(path)
    keys, previous, problems = collections.Counter(), None, []
    for event in document["traceEvents"]:
        if event["ph"] == "M":
            continue
        ns = int(event["ts"] * 1000)
        if previous is not None and ns < previous:
            problems.append(f"not sorted at {event['ts']}")
        previous = ns
        for name in ("pid", "tid"):
            if not isinstance(event[name], int):
                problems.append(f"{name} is no integer: {event[name]!r}")
        duration = int(event["dur"] * 1000) if "dur" in event else None
        keys[key_of(event, document["baseTimeNanoseconds"] + ns, duration)] += 1
    return keys, problems


def differences(merged, files):
    seen, problems = merged_keys(merged)
    wanted = collections.Counter()
    for path in files:
        wanted += foreign_keys(path)
    problems += [f"missing: {key} x {count}" for key, count in (wanted - seen).items()]
    problems += [f"too many: {key} x {count}" for key, count in (seen - wanted).items()]
    return sum(wanted.values()), problems


if __name__ == "__main__":
    count, found = differences(sys.argv[1], sys.argv[2:])
    print(*found[:10], sep="\n")
    print(f"{count} events, {len(found)} differences")
    sys.exit(1 if found else 0)
