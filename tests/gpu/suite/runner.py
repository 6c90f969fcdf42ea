"""Runs cases, each in a process of its own that ends at its limit, within a budget of time."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import traceback

from suite.bench import Bench
from suite.case import Skip
from suite.machine import has_module
from suite.stacks import keep_stacks


def empty_row(state, *notes):
    return {"state": state, "seconds": 0.0, "figures": {}, "notes": list(notes), "problems": []}


def run_here(case, machine, agent, compiler, folder, rings_beside):
    """In the case's own process: the row as it goes into the results."""
    bench = Bench(machine, agent, compiler, folder, rings_beside)
    begin = time.monotonic()
    try:
        missing = [name for name in case.needs if not has_module(name)]
        if missing:
            raise Skip(f"Python has no {', '.join(missing)}")
        case.run(bench)
        state = "FAILED" if bench.row.problems else "passed"
    except Skip as reason:
        state = "skipped"
        bench.row.note(str(reason))
    except Exception:
        state = "FAILED"
        bench.row.problems.append(traceback.format_exc(limit=-4))
    row = bench.row
    return {"state": state, "seconds": round(time.monotonic() - begin, 1), "figures": row.figures,
            "notes": row.notes, "problems": row.problems}


class Running:
    """A case in its child process."""

    def __init__(self, case, folder, child_words, limit_s, cut_short=False):
        self.case, self.folder = case, pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._result, self._limit_s, self._cut_short = self.folder / "row.json", limit_s, cut_short
        self._begin = time.monotonic()
        self._output = open(self.folder / "output.txt", "w")
        # A session of its own: what the case started ends with it.
        self._process = subprocess.Popen([*child_words, "--child", case.name, "--folder", str(self.folder)],
                                         stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, start_new_session=True)

    def row(self):
        """The row once the case has ended, None before."""
        seconds = time.monotonic() - self._begin
        is_running = self._process.poll() is None
        if is_running and seconds < self._limit_s:
            return None
        if is_running and not self._cut_short:
            keep_stacks(self._process.pid, self.folder)
        self.stop()
        if self._result.exists():
            return json.loads(self._result.read_text())
        late = seconds >= self._limit_s
        if late and self._cut_short:
            return empty_row("not run", f"it had only {self._limit_s} s: run it with --rest")
        last = (self.folder / "output.txt").read_text(errors="replace")[-600:]
        return empty_row("FAILED") | {"seconds": round(seconds, 1), "problems": [
            f"no end within {self._limit_s} s" if late else f"the case's process died: {last}"]}

    def stop(self):
        # The whole session, also where its first process has ended.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._output.close()


def run_all(cases, child_words, folder, *, jobs, end_s, slower, keep, done):
    """`done(name, row)` for each case as it ends. Cases that measure time run alone, last.

    keep: a Kept for what failed cases left, or None. end_s: by time.monotonic(); nothing is started after it."""
    waiting = sorted(cases, key=lambda case: case.alone)
    running = []
    while waiting or running:
        for now in list(running):
            row = now.row()
            if row is not None:
                running.remove(now)
                if keep and row["state"] == "FAILED":
                    row["notes"] += filter(None, [keep.add(now.case.name, now.folder)])
                done(now.case.name, row)
        while waiting and len(running) < jobs:
            next_case = waiting[0]
            if running and (next_case.alone or running[0].case.alone):
                break
            waiting.pop(0)
            left = end_s - time.monotonic()
            if left < 10:
                done(next_case.name, empty_row("not run", "no time left: run it with --rest"))
                continue
            limit = next_case.limit_s * slower
            running.append(Running(next_case, folder / next_case.name, child_words, round(min(limit, left)),
                                   cut_short=left < limit))
        time.sleep(0.05)
