"""Rank files, node files and torch.profiler's files, looked at in one way."""

import bisect
import collections
import functools
import gzip
import json
import pathlib

DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
HOST_CATEGORIES = ("cuda_runtime", "cuda_driver", "nccl")
# More than that is no small error of two clocks.
MOST_EARLY = 0.1


class Trace:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        opened = gzip.open if self.path.name.endswith(".gz") else open
        with opened(path, "rt", errors="replace") as file:
            self.document = json.load(file)
        self.events = self.document["traceEvents"]
        self.slices = [event for event in self.events if event.get("ph") == "X"]
        about = self.document.get("traceagent", {})
        self.about = about.get("merged", [about])

    def of(self, *categories):
        return [event for event in self.slices if event.get("cat") in categories]

    def device_work(self):
        return self.of(*DEVICE_CATEGORIES)

    def kernels(self):
        return collections.Counter(event["name"] for event in self.of("kernel"))

    def copies(self):
        """{"copy HtoD": (count, bytes), …, "set -": …}"""
        sums = collections.defaultdict(lambda: (0, 0))
        for event in self.of("gpu_memcpy", "gpu_memset"):
            what = "set -" if event["cat"] == "gpu_memset" else f"copy {event['name'].split()[1]}"
            count, size = sums[what]
            sums[what] = count + 1, size + int(event["args"].get("bytes", 0))
        return dict(sums)

    def steps(self):
        """[(begin, end)] of the recorded steps, by begin."""
        return sorted((event["ts"], event["ts"] + event["dur"]) for event in self.slices
                      if event["name"].startswith("ProfilerStep#") and event.get("cat") == "user_annotation")

    @functools.cached_property
    def launches(self):
        """{correlation: host event}"""
        return {event["args"]["correlation"]: event for event in self.of(*HOST_CATEGORIES)
                if "correlation" in event.get("args", {})}

    def kernels_by_step(self):
        """[{kernel: count}] of the steps in order: a kernel belongs to the step that launched it."""
        steps, launches = self.steps(), self.launches
        begins = [begin for begin, _ in steps]
        counts = [collections.Counter() for _ in steps]
        for event in self.of("kernel"):
            launch = launches.get(event["args"].get("correlation"), event)
            index = bisect.bisect_right(begins, launch["ts"]) - 1
            if index >= 0 and launch["ts"] < steps[index][1]:
                counts[index][event["name"]] += 1
        return counts

    def busy_us(self):
        """Time in which the device did something: the union of its work, within the steps' kernels."""
        spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in self.device_work())
        total, reached = 0.0, float("-inf")
        for begin, end in spans:
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    def dropped(self):
        sums = collections.Counter()
        for about in self.about:
            sums.update(about.get("dropped", {}))
        return dict(sums)

    def device_source(self):
        return self.about[0].get("device", {}).get("source", "none")

    def device_problems(self):
        """What must hold for every file of ours that has device work."""
        yield from self._arrow_problems()
        yield from self._early_problems()
        yield from self._overlap_problems()

    def _early_us(self, event):
        """How much before its own call a piece of work seems to start, by clocks that disagree a little."""
        launch = self.launches.get(event["args"].get("correlation"))
        return launch["ts"] - event["ts"] if launch else 0

    def early_work(self):
        """[us] of what seems to start before its call: the agent draws no arrow back in time."""
        return [early for early in map(self._early_us, self.device_work()) if early > 0]

    def _arrow_problems(self):
        """Every piece of device work has an arrow that starts in a host slice and ends at it."""
        hosts = collections.defaultdict(list)
        for event in self.of(*HOST_CATEGORIES):
            hosts[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        starts = {e["id"]: e for e in self.events if e.get("ph") == "s" and e.get("cat") == "ac2g"}
        ends = {(e["pid"], e["tid"], e["ts"]): e["id"] for e in self.events
                if e.get("ph") == "f" and e.get("cat") == "ac2g"}
        for event in self.device_work():
            if event["args"].get("launched before the window"):
                continue
            flow = starts.get(ends.get((event["pid"], event["tid"], event["ts"])))
            if flow is None and self._early_us(event) <= 0:
                yield f"no arrow to {event['name']} at {event['ts']}"
            elif flow and not any(begin <= flow["ts"] <= end for begin, end in hosts[flow["pid"], flow["tid"]]):
                yield f"the arrow to {event['name']} at {event['ts']} starts in no host call"

    def _early_problems(self):
        early, work = self.early_work(), self.device_work()
        if len(early) > len(work) * MOST_EARLY:
            yield f"{len(early)} of {len(work)} pieces of work start before their call, by up to {max(early):.3f} us"

    def _overlap_problems(self):
        lanes = collections.defaultdict(list)
        for event in self.device_work():
            lanes[event["pid"], event["tid"]].append((event["ts"], event["dur"], event["name"]))
        for work in lanes.values():
            work.sort()
            for (ts, dur, name), (later, _, other) in zip(work, work[1:]):
                if later < ts + dur - 0.0005:
                    yield f"{name} at {ts} and {other} at {later} overlap on one lane"


def rank_files(folder):
    """Our rank files below a folder (no node file), by name."""
    files = [path for path in pathlib.Path(folder).rglob("*.json*") if not path.name.startswith((".", "node", "index"))]
    return sorted(path for path in files if path.name.endswith((".json", ".json.gz")))
