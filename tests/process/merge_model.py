"""What `traceagent merge` must make of chosen events: a model that holds the trace in memory and looks at each
event alone, and made files to try it on. It knows nothing of how the tool does it."""

import json
import random

NO_WINDOW = (-1 << 62, 1 << 62)


def ns_of(microseconds):
    return round(microseconds * 1000)


class File:
    """Events are dicts with "ts" and "dur" in nanoseconds, relative to base_ns, in the order of the file."""

    def __init__(self, path, rank, base_ns, events, node=0, ranks=None):
        self.path, self.rank, self.base_ns, self.node = path, rank, base_ns, node
        self.events, self.ranks = events, ranks

    def write(self, compress=None):
        info = {"rank": self.rank, "world_size": 8, "node_rank": self.node, "run_key": f"run{self.node}"}
        if self.ranks:
            info["ranks"] = self.ranks
        rows = [{"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}}
                for rank in self.ranks or [self.rank]]
        rows = [json.dumps(row, separators=(",", ":")) for row in rows] + [line_of(e) for e in self.events]
        text = (f'{{\n"schemaVersion": 1,\n"distributedInfo": {json.dumps(info)},\n"displayTimeUnit": "ns",\n'
                f'"baseTimeNanoseconds": {self.base_ns},\n"traceName": "{self.path.name}",\n'
                '"deviceProperties": [],\n"traceEvents": [\n' + ",\n".join(rows) +
                f'\n],\n"traceagent": {{"identity": {{"rank": {self.rank}}}, "dropped": {{}}}},\n'
                '"complete": true\n}\n')
        self.path.write_bytes(compress(text.encode()) if compress else text.encode())
        return self.path


def microseconds(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def line_of(event):
    rest = {key: value for key, value in event.items() if key not in ("ts", "dur")}
    dur = f',"dur":{microseconds(event["dur"])}' if "dur" in event else ""
    return f'{{"ts":{microseconds(event["ts"])}{dur},' + json.dumps(rest, separators=(",", ":"))[1:]


# ---- made files ----

CATEGORIES = ["kernel", "cuda_runtime", "a,kernel", None]


class Maker:
    def __init__(self, seed, rank, span_ns=100_000):
        self.random, self.rank, self.span_ns = random.Random(seed), rank, span_ns
        self.events, self.serial, self.flows = [], 0, 0

    def add(self, ts, ph, category=None, order=0, **rest):
        self.serial += 1
        event = {"ts": ts, **({"dur": rest.pop("dur")} if "dur" in rest else {}), "ph": ph}
        if category:
            event["cat"] = category
        event |= {"name": rest.pop("name", f"e{self.serial}"), "pid": rest.pop("pid", self.rank),
                  "tid": rest.pop("tid", 1)}
        # Members behind "args" and none of it, as other people's traces have them.
        event = {"args": {"n": self.serial, "dur": '"dur":7}'}, **event} if self.serial % 5 == 0 else \
            event | {"args": {"n": self.serial}}
        self.events.append((ts, order, self.serial, event | rest))

    def nested(self, tid, begin, end, depth):
        """Slices of a lane, one in another; no two times are the same."""
        at = begin
        while depth and end - at > 40:
            at += self.random.randrange(1, (end - at) // 2)
            until = at + self.random.randrange(1, max(2, (end - at) // 2))
            category = self.random.choice(CATEGORIES)
            if self.random.random() < 0.7:
                self.add(at, "X", category, dur=until - at, tid=tid)
                self.points(tid, at, until)
            else:
                self.add(at, "B", category, tid=tid)
                self.points(tid, at + 1, until - 1)
                if self.random.random() < 0.9:
                    self.add(until, "E", tid=tid, order=1)
                else:  # a beginning without an end: nothing can enclose it
                    end = until
            self.nested(tid, at + 2, until - 2, depth - 1)
            at = until + 1

    def points(self, tid, begin, end):
        for place, order in ((begin, -1), (begin, 1), ((begin + end) // 2, 0)):
            if self.random.random() < 0.2 and begin <= place <= end:
                self.flows += 1
                self.add(place, self.random.choice("ssft"), "ac2g", order=order, tid=tid,
                         name="arrow", id=self.random.randrange(max(1, self.flows // 3) + 3))

    def make(self):
        for tid in range(1, 4):
            self.nested(tid, 0, self.span_ns, 3)
        for _ in range(40):
            ts = self.random.randrange(self.span_ns)
            self.add(ts, "i", self.random.choice(CATEGORIES), s="t")
            self.add(ts, "C", name=self.random.choice(["cpu", "memory"]), args={"v": ts})
            self.add(ts, self.random.choice("be"), "async", name="a", id=self.random.choice(["0x1", "0x2"]))
            self.add(ts, "E", tid=9)  # an end without a beginning
        self.add(self.span_ns // 2, "s", "ac2g", tid=77, name="arrow", id=1)
        return [event for _, _, _, event in sorted(self.events, key=lambda row: row[:3])]


# ---- the model ----

class Rules:
    def __init__(self, window=NO_WINDOW, clip=False, ranks=None, categories=None):
        self.window, self.clip, self.ranks, self.categories = window, clip, ranks, categories

    def overlaps(self, begin, end):
        return not (end < self.window[0] or self.window[1] < begin)

    def has_category(self, event):
        return self.categories is None or any(each in self.categories for each in event.get("cat", "").split(","))

    def judge(self, event, begin, end):
        if not self.has_category(event):
            return "category"
        return "" if self.overlaps(begin, end) else "time"

    def clamp(self, ns):
        return min(max(ns, self.window[0]), self.window[1])


def spans_of(events, begins, ends, key):
    """{index of a beginning: index of its end or None}, and the ends that have no beginning."""
    spans, open_, orphans = {}, {}, []
    for index, event in enumerate(events):
        if event["ph"] == begins:
            spans[index] = None
            open_.setdefault(key(event), []).append(index)
        elif event["ph"] == ends:
            if open_.get(key(event)):
                spans[open_[key(event)].pop()] = index
            else:
                orphans.append(index)
    return spans, orphans


def slices_of_lanes(events, spans):
    """{(pid, tid): [(begin, end, index)]}, the last first."""
    lanes = {}
    for index, event in enumerate(events):
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
        elif event["ph"] == "B":
            end = 1 << 62 if spans[index] is None else events[spans[index]]["ts"]
        else:
            continue
        lanes.setdefault((event["pid"], event["tid"]), []).insert(0, (event["ts"], end, index))
    return lanes


def slice_around(lanes, point):
    """Index of the slice that begins last among those that hold the point; None: none does."""
    return next((index for begin, end, index in lanes.get((point["pid"], point["tid"]), [])
                 if begin <= point["ts"] <= end), None)


def verdicts(file, rules):
    """Why each event is left out: "" where it is not."""
    wanted = [rules.ranks is None or event["pid"] % 1_000_000 in rules.ranks for event in file.events]
    of_ranks = iter(verdicts_of_ranks(File(file.path, file.rank, file.base_ns, [
        event for event, is_wanted in zip(file.events, wanted) if is_wanted]), rules))
    return [next(of_ranks) if is_wanted else "rank" for is_wanted in wanted]


def verdicts_of_ranks(file, rules):
    events = file.events
    at = [file.base_ns + event["ts"] for event in events]
    result = [rules.judge(event, begin, begin + event.get("dur", 0)) for event, begin in zip(events, at)]
    if rules.window == NO_WINDOW and rules.categories is None:
        return [""] * len(events)
    judge_pairs(file, rules, at, result)
    return result


def judge_pairs(file, rules, at, result):
    events = file.events
    slices, orphans = spans_of(events, "B", "E", lambda e: (e["pid"], e["tid"]))
    asyncs, lost = spans_of(events, "b", "e", lambda e: (e["pid"], e["cat"], e["id"]))
    for index in orphans + lost:
        result[index] = "unpaired"
    for begin, end in {**slices, **asyncs}.items():
        verdict = rules.judge(events[begin], at[begin], 1 << 62 if end is None else at[end])
        result[begin] = verdict
        if end is not None:
            result[end] = verdict
    judge_arrows(file, rules, slices, at, result)
    if rules.clip:
        last = {}
        for index, event in enumerate(events):
            if event["ph"] == "C" and at[index] < rules.window[0] and rules.has_category(event):
                last[event["pid"], event["name"]] = index
        for index in last.values():
            result[index] = ""


def judge_arrows(file, rules, slices, at, result):
    events, waiting = file.events, {}
    lanes = slices_of_lanes(events, slices)
    for index, event in enumerate(events):
        if event["ph"] not in "stf":
            continue
        around = slice_around(lanes, event)
        verdict = result[index] if around is None else result[around]
        if around is not None and events[around]["ph"] == "B":
            verdict = rules.judge(events[around], at[index], at[index])
        arrow = event["id"]
        result[index] = verdict or "unpaired"
        if event["ph"] == "s":
            waiting.pop(arrow, None)
            if not verdict:
                waiting[arrow] = [index]
        elif not verdict and arrow in waiting:
            waiting[arrow].append(index)
            if event["ph"] == "f":
                for each in waiting[arrow]:
                    result[each] = ""
                waiting[arrow] = []


def chosen(files, rules):
    """([(absolute ns, ns of duration or None, rest of the event as JSON)] sorted, {why: count})."""
    kept, left_out = [], {}
    for file in files:
        if rules.ranks is not None and not {event["pid"] for event in file.events} & rules.ranks:
            continue  # left out as a file
        for event, verdict in zip(file.events, verdicts(file, rules)):
            if verdict:
                left_out[verdict] = left_out.get(verdict, 0) + 1
                continue
            begin = file.base_ns + event["ts"]
            end = begin + event.get("dur", 0)
            if rules.clip:
                begin, end = rules.clamp(begin), rules.clamp(end)
            kept.append(row_of(event, begin, end))
    return sorted(kept), left_out


def row_of(event, begin, end):
    rest = {key: value for key, value in event.items() if key not in ("ts", "dur")}
    return begin, end - begin if "dur" in event else -1, json.dumps(rest, sort_keys=True)


def rows_of(document):
    """The same of a trace file's JSON."""
    base = document["baseTimeNanoseconds"]
    events = [event for event in document["traceEvents"] if event["ph"] != "M"]
    assert [e["ts"] for e in events] == sorted(e["ts"] for e in events), "not sorted"
    return sorted(row_of(event, base + ns_of(event["ts"]), base + ns_of(event["ts"]) + ns_of(event.get("dur", 0)))
                  for event in events)
