"""What a rank has made, against what is in its files: every event is written or counted as dropped."""

import collections
import json
import subprocess

from places import BUILD
from ranks import LIMIT_S, THREADS

COUNTER = BUILD / "soak/count_events"
DEVICE_CAUSES = ("device_late", "device_ring_full", "device_dropped", "device_untimed")


class TraceCounts:
    """A trace file, counted."""

    def __init__(self, path):
        self.path = path
        done = subprocess.run([COUNTER, path], capture_output=True, text=True, timeout=LIMIT_S)
        self.is_whole = done.returncode == 0
        if not self.is_whole:
            return
        counts = json.loads(done.stdout)
        # As one JSON document without its events: it must read as such.
        self.document = json.loads(counts["head"] + counts["tail"])
        self.events, self.gpu_memsets, self.marks = counts["events"], counts["gpu_memsets"], counts["marks"]
        self.threads = {tuple(map(int, where.split("/"))): thread for where, thread in counts["threads"].items()}
        self.about = self.document["traceagent"]
        self.bytes = path.stat().st_size

    def numbered(self):
        """{(pid, tid): events}"""
        return collections.Counter({where: thread["count"] for where, thread in self.threads.items()})


class Account:
    """Sums of what was compared, and what is wrong."""

    def __init__(self):
        self.sums, self.problems = collections.Counter(), []

    def add(self, other):
        self.sums.update(other.sums)
        self.problems += other.problems


def _of_thread(process, tid):
    return 0 if tid == process.pid else 1


def _bounds(process, first, last):
    """Events of each thread in steps first … last: at least, at most. A kill leaves one per thread in doubt."""
    page, begins = process.page, process.page.before_step(first)
    if last + 1 < page.steps_begun():
        ends = page.before_step(last + 1)
        return [(end - begin, end - begin) for begin, end in zip(begins, ends)]
    return [(low - begin, high - begin) for begin, low, high in zip(begins, page.done(), page.begun())]


def account_file(process, counts, load):
    """One window of one process."""
    account, about = Account(), counts.about
    problem = account.problems.append
    window, dropped = about["window"], about["dropped"]
    first = window.get("first_step")
    numbered = counts.numbered()
    if first is None:
        if sum(numbered.values()):
            problem("events before the first step, and the program makes none there")
        return account
    page = process.page
    last = min(first + load.active - 1, page.steps_begun() - 1)
    bounds = _bounds(process, first, last)
    lost = sum(dropped.get(cause, 0) for cause in ("ring_full", "overwritten"))
    found = [0] * THREADS
    for (_, tid), thread in counts.threads.items():
        place = _of_thread(process, tid)
        found[place] += thread["count"]
        begin = page.before_step(first)[place]
        if thread["wrong"] or thread["last"] >= begin + max(bounds[place][1], 1):
            problem(f"thread {place}: twice or of no step of the window: {thread}")
        if not lost and (thread["first"] != begin or thread["last"] - thread["first"] + 1 != thread["count"]):
            problem(f"thread {place}: events are missing in between: {thread}, from {begin}")
    marks = (min(last, page.steps_marked() - 1) - first + 1, last - first + 1)
    least, most = sum(low for low, _ in bounds) + marks[0], sum(high for _, high in bounds) + marks[1]
    if lost and process.ending == "stopped" and last + 1 >= page.steps_begun():
        most += 1  # the program's cudaFree, after its last step
    written = sum(found) + counts.marks
    if not least <= written + lost <= most:
        problem(f"steps {first} to {last}: {written} events written and {lost} dropped of {least}"
                f"{'' if least == most else f' to {most}'}")
    if not lost:
        for place, (low, high) in enumerate(bounds):
            if not low <= found[place] <= high:
                problem(f"thread {place}: {found[place]} events of {low} to {high}")
    memsets = sum(thread["memsets"] for thread in counts.threads.values())
    # By cause: not arrived yet, or made before CUPTI was on: on a busy machine that takes a while.
    without = about.get("device", {}).get("launches_without_work", {})
    late = max(sum(dropped.get(cause, 0) for cause in DEVICE_CAUSES), sum(without.values()))
    recovered = bool(about.get("recovered"))
    if not recovered and not lost and counts.gpu_memsets + late < memsets:
        problem(f"{counts.gpu_memsets} of {memsets} memsets on the device, {late} counted as missing: {without}, "
                f"{dropped}")
    if not recovered and counts.document.get("complete") is not True:
        problem("the file is not complete")
    account.sums.update(windows=1, written=0 if recovered else written, recovered=written if recovered else 0,
                        dropped=lost, device=counts.gpu_memsets, device_missing=late, bytes=counts.bytes,
                        in_windows=min(max(written + lost, least), most))
    return account


def account_process(process, windows, load):
    """All windows of a process that has ended: the schedule's are all there, once."""
    account, page = Account(), process.page
    begun = page.steps_begun()
    wanted = [first for first in range(load.wait + 1, begun, load.cycle_steps())]
    for first, count in collections.Counter(windows).items():
        if count > 1 or first not in wanted:
            account.problems.append(f"the window of step {first} is there {count} times")
    for first in wanted:
        if first in windows:
            continue
        is_empty = sum(page.done()) == sum(page.before_step(first)) and page.steps_marked() <= first
        if not (process.ending == "killed" and is_empty):
            account.problems.append(f"the window of step {first} is missing; {begun} steps were begun")
    account.sums.update(made=sum(page.begun()) + begun, processes=1)
    return account
