#!/usr/bin/env python3
"""What the agent costs stays within its budgets, and the trace says what was left out for it: a program
that launches without a pause.

    governor_test.py BUILD DEPS door|last|comes_back|cpu|windows|disk|disk_counted|memory
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

from jobs import PROGRAMS, STEADY, TRACEAGENT, Checks, Place
from places import ARGUMENTS

SCRIPT = "kernels: {default: 0us}\ncopies: {latency: 0us}\n"
PATIENCE_S = 400
# The agent's own threads have the same budget, which is theirs alone.
OF_THREADS = {"device work", "windows"}
ALL_CALLS_AGAIN = r"busiest thread's time.*(it leaves out device work(, windows)?|everything is recorded again)$"
# In the order in which they go, by the names of the trace.
LEVELS = [["memory", "streams"], ["copies", "memory", "synchronisations", "streams"],
          ["launches", "copies", "memory", "synchronisations", "streams"],
          ["launches", "copies", "memory", "synchronisations", "streams", "NVTX ranges"],
          ["launches", "copies", "memory", "synchronisations", "streams", "collectives", "communicators", "NVTX ranges"]]
# The budget is averaged over ten seconds.
BUCKET_NS = 10_000_000_000
# One window until the program ends: what is in it does not depend on the machine's speed.
ONE_WINDOW = {"TRACEAGENT_STEP_MARK": "every:100ms",
              "TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1000000,repeat=1",
              # Of the ring's million records the bucket holds less than a fifth: none is dropped.
              "TRACEAGENT_BUDGET_OVERHEAD": "0.05%", "TRACEAGENT_VERBOSE": 1, "TRACEAGENT_DOORS_CUPTI": "false"}


class Noisy:
    """The program, told what to do by its standard input; what the agent says is read meanwhile."""

    def __init__(self, place, pause_us=0, launches=None, program="noisy", **variables):
        (place.path / "script.yaml").write_text(SCRIPT)
        # A session of its own: whatever happens, nothing of it outlives the test.
        self.process = subprocess.Popen(
            [PROGRAMS / program, str(pause_us), *([str(launches)] if launches else [])], cwd=place.path, start_new_session=True, text=True,
            env=place.agent(SIMGPU_SCRIPT=place.path / "script.yaml", **variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.out = [], ""
        self.readers = [threading.Thread(target=self._read_err), threading.Thread(target=self._read_out)]
        for reader in self.readers:
            reader.start()

    def _read_err(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def _read_out(self):
        self.out = self.process.stdout.read()

    def wait_for(self, pattern):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if any(re.search(pattern, line) for line in self.lines):
                return True
            time.sleep(0.02)
        return any(re.search(pattern, line) for line in self.lines)

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def end(self, at_once=True):
        """Its exit code."""
        if at_once:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE_S)
        for reader in self.readers:
            reader.join(timeout=PATIENCE_S)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=PATIENCE_S)
        for reader in self.readers:
            reader.join(timeout=PATIENCE_S)

    def counts(self):
        return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", self.out)}


def rank_trace(place):
    files = [name for name in place.files() if re.search(r"rank0.*\.json$", name)]
    return place.trace(files[0]) if len(files) == 1 else None


def begins_ns(trace, name):
    base_ns = int(trace["baseTimeNanoseconds"])
    return [base_ns + round(event["ts"] * 1000) for event in trace["traceEvents"]
            if event["ph"] == "X" and event["name"] == name]


def instants(trace):
    return [event["name"] for event in trace["traceEvents"] if event["ph"] == "i"]


def checked(place, name_end="node0.json"):
    name = next(name for name in place.files() if name.endswith(name_end))
    return subprocess.run([str(TRACEAGENT), "check", str(place.path / name)], text=True,
                          capture_output=True, timeout=PATIENCE_S)


def check_level_three(checks, trace, at, counts):
    """No launch and no copy in the window later than the change that left them out."""
    for name, level in (("cudaStreamQuery", 0), ("cudaMemsetAsync", 1), ("cudaLaunchKernel", 2)):
        begun = begins_ns(trace, name)
        # Who saw the mode before the change may be within its call still: the program has one thread.
        late = [moment for moment in begun if moment > at[level]]
        checks.check(begun, f"{name}: nothing at all was recorded")
        checks.check(len(late) <= 1, f"{name}: {len(late)} recorded after it was left out")
    recorded = len(begins_ns(trace, "cudaLaunchKernel"))
    checks.check(recorded < counts["launches"], "every launch was recorded")


def spent_ns(change, trace):
    """Of the busiest thread's time until then, as the agent measured it: the bucket was full at the window's begin."""
    return change["measured_percent"] / 100 * (change["at_ns"] - trace["traceagent"]["window"]["begin_ns"])


def budget_ns(trace, since_ns, until_ns):
    return trace["traceagent"]["governor"]["budget_overhead_percent"] / 100 * (until_ns - since_ns + BUCKET_NS)


def check_spending_ends(checks, trace, last):
    """After the last change no more is spent than the budget and one bucket."""
    window = trace["traceagent"]["window"]
    spent = trace["traceagent"]["governor"]["busiest_thread_percent"] / 100 * (window["end_ns"] - window["begin_ns"])
    most = 1.5 * (spent_ns(last, trace) + budget_ns(trace, last["at_ns"], window["end_ns"]))
    checks.check(0 < spent <= most, f"{spent} ns of the thread's time, {most} would be within the budget")


def check_spending(checks, trace, changes):
    """Of a program that spends little between two looks, no more than the budget and one bucket."""
    for change in changes:
        spent = spent_ns(change, trace)
        within = budget_ns(trace, trace["traceagent"]["window"]["begin_ns"], change["at_ns"])
        # Room for a look that a busy machine delays.
        checks.check(0 < spent <= 2 * within, f"{spent} ns of the thread's time until {change}: budget {within}")


def test_door(checks):
    """Kept by a program that never rests."""
    with Place() as place, Noisy(place, **ONE_WINDOW) as noisy:
        told = noisy.wait_for("leaves out launches, copies, memory, synchronisations, streams")
        checks.check(told, f"the agent never said that it leaves out launches: {noisy.lines}")
        time.sleep(0.5)
        checks.check(noisy.end() == 3, "the program's own exit code is lost")
        counts = noisy.counts()
        checks.check(set(counts) == {"launches", "copies", "queries", "ranges"}, f"its output: {noisy.out}")
        trace = rank_trace(place)
        if not checks.check(trace is not None, f"one rank file: {place.files()}"):
            return
        governor = trace["traceagent"]["governor"]
        door = [change for change in governor["changes"] if change["because"] == "busiest thread"]
        left_out = [[name for name in change["left_out"] if name not in OF_THREADS] for change in door[:3]]
        checks.check(left_out == LEVELS[:3], f"not in order: {door}")
        checks.check([change["level"] for change in door[:3]] == [1, 2, 3], f"levels: {door}")
        checks.check(door[0]["measured_percent"] > 0.05, f"measured less than the budget: {door[0]}")
        checks.check(governor["budget_overhead_percent"] == 0.05, f"budget: {governor}")
        check_spending_ends(checks, trace, door[-1])
        check_level_three(checks, trace, [change["at_ns"] for change in door[:3]], counts)
        left_out = [name for name in instants(trace) if name.startswith("TraceAgent leaves out: ")]
        checks.check(len(left_out) >= 3, f"instants: {instants(trace)}")
        checks.check(any("launches" in name for name in left_out), f"instants: {left_out}")
        check = checked(place)
        checks.check(check.returncode == 1 and "left out" in check.stdout, f"traceagent check: {check.stdout}")
        checks.check(re.search(r"launches, copies, .*busiest thread", check.stdout) is not None,
                     f"traceagent check does not say when: {check.stdout}")


def trace_once_quiet(checks, place, noisy):
    """Of a program that costs nothing any more, once everything is recorded again; None: there is none, which is told."""
    noisy.tell("quiet")
    checks.check(noisy.wait_for(ALL_CALLS_AGAIN), f"never again: {noisy.lines}")
    time.sleep(0.3)
    checks.check(noisy.end() == 3, "the program's own exit code is lost")
    trace = rank_trace(place)
    checks.check(trace is not None, f"one rank file: {place.files()}")
    return trace


def test_last(checks):
    """Ranges and collectives go last, and those that come again have their numbers: all were counted. A ring has room
    for what a busy machine lets through before."""
    with Place() as place, Noisy(place, program="chatty", TRACEAGENT_RING_SIZE="512MiB", **ONE_WINDOW) as chatty:
        told = chatty.wait_for("leaves out .*NVTX ranges")
        checks.check(told, f"the agent never said that it leaves out ranges: {chatty.lines}")
        deepest = chatty.wait_for("leaves out .*collectives")
        checks.check(deepest, f"the agent never said that it leaves out collectives: {chatty.lines}")
        time.sleep(0.5)
        trace = trace_once_quiet(checks, place, chatty)
        if trace is None:
            return
        door = [change for change in trace["traceagent"]["governor"]["changes"] if change["because"] == "busiest thread"]
        left_out = [[name for name in change["left_out"] if name not in OF_THREADS] for change in door]
        checks.check(left_out[:5] == LEVELS, f"not in order: {door[:5]}")
        checks.check([change["level"] for change in door[:5]] == [1, 2, 3, 4, 5], f"levels: {door[:5]}")
        numbers = [event["args"]["Seq"] for event in trace["traceEvents"] if event.get("name") == "ncclAllReduce"]
        made = chatty.counts()["collectives"]
        checks.check(numbers == sorted(set(numbers)) and numbers[-1] == made - 1,
                     f"the last of {made} collectives has the number {numbers[-1]}")
        gap = max(after - before for before, after in zip(numbers, numbers[1:]))
        checks.check(gap > made / 10, f"collectives were left out: the largest gap in their numbers is {gap} of {made}")


def test_comes_back(checks):
    """A program that was noisy at its start alone gets full detail again."""
    # What is spent before the governor looks, on a busy machine late, has to be saved again.
    with Place() as place, Noisy(place, pause_us=10000, **ONE_WINDOW) as noisy:
        checks.check(noisy.wait_for("leaves out launches"), f"nothing was left out: {noisy.lines}")
        trace = trace_once_quiet(checks, place, noisy)
        if trace is None:
            return
        changes = [change for change in trace["traceagent"]["governor"]["changes"]
                   if change["because"] == "busiest thread"]
        check_spending(checks, trace, changes)
        checks.check(set(changes[-1]["left_out"]) <= OF_THREADS, f"the last change: {changes[-1]}")
        for name in ("cudaStreamQuery", "cudaMemsetAsync", "cudaLaunchKernel"):
            again = [moment for moment in begins_ns(trace, name) if moment > changes[-1]["at_ns"]]
            checks.check(again, f"{name}: not recorded again")
        again = [name for name in instants(trace) if name.startswith("TraceAgent records again: ")]
        checks.check(any("launches" in name for name in again), f"instants: {instants(trace)}")


def windows_of(place):
    """(begin_ns, end_ns, kernels) of each rank file, in order."""
    windows = []
    for name in place.files():
        if not re.search(r"rank0.*\.json$", name):
            continue
        trace = place.trace(name)
        window = trace["traceagent"]["window"]
        kernels = sum(1 for event in trace["traceEvents"] if event.get("cat") == "kernel")
        windows.append((window["begin_ns"], window["end_ns"], kernels, trace["traceagent"]["governor"]))
    return sorted(windows, key=lambda window: window[0])


def test_cpu(checks):
    """Where the agent's own threads cost too much, CUPTI goes off, though window follows window."""
    settle_ns, slack_ns = 100_000_000, 500_000_000  # what was launched before may still come; a busy machine
    windows = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=2,repeat=0", "TRACEAGENT_DOORS_CUPTI": "true",
               "TRACEAGENT_DEVICE_SETTLE": "100ms"}
    with Place() as place, Noisy(place, pause_us=50000, **{**ONE_WINDOW, **windows}) as noisy:
        checks.check(noisy.wait_for(r"of the CPUs.*leaves out .*device work$"), f"not said: {noisy.lines}")
        checks.check(noisy.wait_for(r"of the CPUs.*leaves out .*device work, windows$"), f"not said: {noisy.lines}")
        checks.check(noisy.end() == 3, "the program's own exit code is lost")
        seen = windows_of(place)
        first = next(change for *_, governor in seen for change in governor["changes"]
                     if change["because"] == "own threads")
        checks.check(first["level"] == 1 and "device work" in first["left_out"]
                     and "windows" not in first["left_out"], f"the first change: {first}")
        checks.check(first["measured_percent"] > 0.05, f"measured less than the budget: {first}")
        before = [kernels for begin, end, kernels, _ in seen if end < first["at_ns"]]
        after = [kernels for begin, _, kernels, _ in seen if begin > first["at_ns"] + settle_ns + slack_ns]
        checks.check(before and sum(before) > 0, f"no kernel before: {before}")
        checks.check(after, f"no window after: {[window[:3] for window in seen]}")
        checks.check(sum(after) == 0, f"kernels in windows that began after CUPTI was left out: {after}")


def test_disk(checks):
    """Files up to the budget, whole; then none, nor the node's file, and one line for each."""
    budget_bytes = 4_000_000
    windows = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1,repeat=0", "TRACEAGENT_BUDGET_OVERHEAD": "0",
               "TRACEAGENT_BUDGET_DISK": budget_bytes}
    with Place() as place, Noisy(place, pause_us=20000, **{**ONE_WINDOW, **windows}) as noisy:
        checks.check(noisy.wait_for("^traceagent: budget.disk: .*recording ends"), f"not said: {noisy.lines}")
        time.sleep(0.3)
        checks.check(noisy.end() == 3, "the program's own exit code is lost")
        names = place.files()
        index = [name for name in names if "/index/" in name]
        traces = [name for name in names if name.endswith(".json") and name not in index]
        size = sum((place.path / name).stat().st_size for name in traces)
        checks.check(0 < size <= budget_bytes, f"{size} bytes in {traces}")
        checks.check(not any(name.endswith("node0.json") for name in names), f"a node file: {names}")
        checks.check(set(names) == {*traces, *index, "script.yaml"}, f"left behind: {names}")
        for name in traces:
            checks.check(place.trace(name)["traceagent"]["governor"]["left_out"] == [], f"{name} lacks something")
        said = [line for line in noisy.lines if line.startswith("traceagent: budget.disk:")]
        checks.check(len(said) == 2 and "not merged" in said[1], f"said: {said}")
        # The remedy is a command that works.
        words = said[1].split(": ")[-1].split()
        merged = subprocess.run([str(TRACEAGENT), *words[1:]], capture_output=True, text=True, timeout=PATIENCE_S)
        checks.check(words[0] == "traceagent" and merged.returncode == 0, f"{words}: {merged.stderr}")
    # Cycles whose files have one name leave one file: its successor takes its room.
    one_name = {"TRACEAGENT_OUTPUT_FILENAME": "rank{rank}.json", "TRACEAGENT_OUTPUT_OVERWRITE": "true",
                "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=0", "TRACEAGENT_BUDGET_DISK": 400_000}
    with Place() as place:
        job = place.run([STEADY, 120, 100, 10000], place.agent(**one_name))
        written = sum(entry.get("bytes", 0) for entry in place.trace("job/traces/index/index.json")["entries"])
        checks.check(written > 2 * one_name["TRACEAGENT_BUDGET_DISK"], f"too little for the test: {written}")
        checks.check(job.code == 3 and not [line for line in job.lines() if "budget.disk" in line], repr(job))
        checks.check("job/traces/node0.json" in place.files(), f"{place.files()} {job}")


def test_disk_counted(checks):
    """Steps found by launches are heard on: each window of the schedule that is left out is counted."""
    steps = 400
    options = {"TRACEAGENT_BUDGET_OVERHEAD": "0", "TRACEAGENT_BUDGET_DISK": 100_000, "TRACEAGENT_STEP_MARK": "auto",
               "TRACEAGENT_SCHEDULE": "skip_first=20,wait=0,warmup=1,active=4,repeat=0"}
    with Place() as place:
        # Steps of some 13 ms, so that slices of a second would be other ones.
        (place.path / "script.yaml").write_text("kernels: {default: 1ms}\n")
        options["SIMGPU_SCRIPT"] = place.path / "script.yaml"
        job = place.run([PROGRAMS / "step_single_gpu", "--steps", steps, "--no-nvtx"], place.agent(**options))
        said = [re.search(r"(\d+) windows? of the schedule (?:was|were) left out", line) for line in job.lines()]
        counted = [int(found[1]) for found in said if found]
        files = [name for name in place.files() if "/ep" in name]
        cycles = (steps - 20) // 5
        checks.check(job.code == 0 and len(counted) == 1, f"{job}")
        # One at either end of the job may be begun and not ended, or found late.
        checks.check(counted and abs(cycles - len(files) - counted[0]) <= 2, f"{cycles} cycles, {len(files)} files, {counted}")


def test_windows(checks):
    """A window every second step of 2 ms, by the mark of the user: its edges cost more than the budget, and no call
    that is left out would make them less."""
    options = {"TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize", "TRACEAGENT_OUTPUT_KEEP": 50, "TRACEAGENT_BUDGET_OVERHEAD": "0.3%",
               "TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=1,repeat=0"}
    with Place() as place:
        job = place.run([STEADY, 8000, 20, 2000], place.agent(**options))
        checks.check(job.code == 3, repr(job)[:2000])
        files = [name for name in place.files() if re.search(r"ba\d+-rank0.*\.json$", name)]
        last = max(files, key=lambda name: int(re.search(r"ba(\d+)", name)[1]))
        said = place.trace(last)["traceagent"]
        governor, edges = said["governor"], said["coverage"].get("counters_edges_left_out", 0)
        print(f"own threads {governor['own_threads_percent']} %, busiest thread {governor['busiest_thread_percent']} %, "
              f"{edges} edges without counters")
        checks.check(set(governor["left_out"]) <= OF_THREADS, f"calls are left out in vain: {governor}")
        # A sample takes some 0.1 ms: half of the budget is 15 of a second's 450 edges.
        checks.check(edges > 4000, f"{edges} edges of 8000 left out: {governor}")


def test_memory(checks):
    """Ring and buffers made to fit; a window that would need more memory is not written, and said."""
    huge = {"TRACEAGENT_BUDGET_OVERHEAD": "0", "TRACEAGENT_BUDGET_MEMORY": "40MiB",
            "TRACEAGENT_DOORS_CUPTI": "true", "TRACEAGENT_RING_SIZE": "64MiB"}
    with Place() as place, Noisy(place, pause_us=100_000, **{**ONE_WINDOW, **huge}) as noisy:
        fitted = r"budget.memory: 40MiB: ring.size is 14MiB instead of 64MiB, device.buffers 10MiB instead of 16MiB"
        checks.check(noisy.wait_for(fitted), f"not said: {noisy.lines}")
        time.sleep(0.2)
        checks.check(noisy.end() == 3, "the program's own exit code is lost")
        trace = rank_trace(place)
        if checks.check(trace is not None, f"one rank file: {place.files()} {noisy.lines}"):
            said = trace["traceagent"]
            checks.check(said["ring_bytes"] <= 15 << 20, f"a ring of {said['ring_bytes']} bytes")
            checks.check(0 < said["governor"]["heap_bytes"] <= 16 << 20, f"heap: {said['governor']}")
    # 100,000 kernels and their calls need 24 MB while they are written; 16 MiB are left.
    tight = {**huge, "TRACEAGENT_BUDGET_MEMORY": "41MiB", "TRACEAGENT_RING_SIZE": "24MiB",
             "TRACEAGENT_DEVICE_BUFFERS": "1MiB"}
    with Place() as place, Noisy(place, launches=100_000, **{**ONE_WINDOW, **tight}) as noisy:
        checks.check(noisy.end(at_once=False) == 3, "the program's own exit code is lost")
        checks.check(any(re.match("traceagent: budget.memory: a window .* not written", line)
                         for line in noisy.lines), f"not said: {noisy.lines}")
        checks.check(not any(name.endswith(".json") for name in place.files()), f"files: {place.files()}")


def main():
    checks = Checks()
    globals()[f"test_{ARGUMENTS[0]}"](checks)
    return checks.end()


sys.exit(main())
