"""Two jobs on the same cores by turns: while one runs, the other and all that it started are stopped. So both meet
the same load of the machine, and what one costs is told by the ratio of turns that follow each other."""

import contextlib
import os
import signal
import statistics
import threading
import time

import jobs
from jobs import STEADY, Place, end_of


class Job(Place):
    """A place whose uploaders, which are no children of ours, end with it."""

    def __exit__(self, *error):
        send(signal.SIGKILL, jobs.processes_naming(self.path))
        super().__exit__(*error)


def send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class TimedJob(threading.Thread):
    """Ranks that work; reads what the first one tells of each step. They are stopped until their first turn."""

    def __init__(self, place, steps, step_us, variables):
        super().__init__(daemon=True)
        self.place, self.steps, self.step = place, steps, 0
        self.readings = []  # after each step, in ns: the clock, CPU time of the thread and of the process
        self.ranks = [place.start([STEADY, steps, 5, -step_us, 1, *more], each)
                      for each, more in zip(variables, [["times"], *[[]] * len(variables)])]
        self.stop()
        self.start()

    def run(self):
        for line in self.ranks[0].stdout:
            if line.startswith("step "):
                self.step, *reading = map(int, line.split()[1:])
                self.readings.append(reading)

    def is_at_work(self):
        return self.step < self.steps and self.ranks[0].poll() is None

    def wait_for_step(self, step):
        """Raises where none comes for long, so that who holds the job ends it: ctest would leave it stopped."""
        deadline = time.monotonic() + min(jobs.TIMEOUT, 200)
        while self.step < step and self.is_at_work():
            if time.monotonic() > deadline:
                raise RuntimeError(f"the job stands at step {self.step}")
            time.sleep(0.005)

    def stop(self):
        self.is_stopped = True
        for rank in self.ranks:
            rank.send_signal(signal.SIGSTOP)
        # They start no uploader any more.
        send(signal.SIGSTOP, jobs.processes_naming(self.place.path))

    def go_on(self):
        send(signal.SIGCONT, jobs.processes_naming(self.place.path))
        for rank in self.ranks:
            rank.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def ends(self):
        self.join()
        return [end_of(rank) for rank in self.ranks]

    def costs_of(self, begin_ns, end_ns):
        """Of its steps in a turn, in ns: the median time, the median CPU time of the thread, CPU time of the process a
        step. None: the last turn was cut short."""
        inside = [reading for reading in self.readings if begin_ns <= reading[0] <= end_ns]
        if len(inside) < 4:
            return None
        pairs = list(zip(inside, inside[1:]))
        wall, thread = (statistics.median(after[what] - before[what] for before, after in pairs) for what in (0, 1))
        return wall, thread, (inside[-1][2] - inside[0][2]) / len(pairs)


class Ratios:
    """Of the second job's costs to the first one's, over all pairs of turns."""

    def __init__(self, pairs):
        self.pairs = len(pairs)
        self.wall, self.thread, self.process = (
            sorted(second[what] / first[what] for first, second in pairs) for what in range(3))

    def __str__(self):
        if self.pairs == 0:
            return "no pair of turns"
        told = [f"{what} {self.of(ratios)}" for what, ratios in
                (("time", self.wall), ("its thread's CPU time", self.thread), ("the process's", self.process))]
        return f"a step in {self.pairs} pairs of turns: {', '.join(told)}"

    @staticmethod
    def of(ratios):
        quarter = len(ratios) // 4
        return f"{statistics.median(ratios):.3f} (half of them {ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"


def by_turns(first, second, steps):
    """A turn is so many steps, until those of one job are over. Then both go on."""
    turns = []
    while first.is_at_work() and second.is_at_work():
        pair = {}
        # Each begins as often as the other: what changes steadily is nobody's.
        for job in (first, second) if len(turns) % 2 == 0 else (second, first):
            begin_ns, last = time.monotonic_ns(), job.step + steps
            job.go_on()
            job.wait_for_step(last)
            job.stop()
            pair[job] = begin_ns, time.monotonic_ns()
        turns.append(pair)
    for job in (first, second):
        job.go_on()
    return turns


def ratios_of(first, second, turns):
    costs = [(first.costs_of(*pair[first]), second.costs_of(*pair[second])) for pair in turns]
    return Ratios([pair for pair in costs if None not in pair])
