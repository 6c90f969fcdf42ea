"""Runs cases, each in a process of its own that ends at its limit, within a budget of time."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import traceback

from suite.bench import Bench
from suite.case import Skip
from suite.machine import has_module


def empty_row(state, *notes):
    return {"state": state, "seconds": 0.0, "figures": {}, "notes": list(notes), "problems": []}


def run_here(case, machine, agent, compiler, folder):
    """In the case's own process: the row as it goes into the results."""
    bench = Bench(machine, agent, compiler, folder)
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

    def __init__(self, case, folder, child_words, limit_s):
        self.case, self.folder = case, pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._result, self._limit_s = self.folder / "row.json", limit_s
        self._begin = time.monotonic()
        self._output = open(self.folder / "output.txt", "w")
        # A session of its own: what the case started ends with it.
        self._process = subprocess.Popen([*child_words, "--child", case.name, "--folder", str(self.folder)],
                                         stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, start_new_session=True)

    def row(self):
        """The row once the case has ended, None before."""
        seconds = time.monotonic() - self._begin
        if self._process.poll() is None and seconds < self._limit_s:
            return None
        self.stop()
        if self._result.exists():
            return json.loads(self._result.read_text())
        late = seconds >= self._limit_s
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


def keep_failed(running, row, keep):
    """A failed case's folder as one file that can be carried home: 16 MiB at most."""
    if keep is None or row["state"] != "FAILED":
        return
    keep.mkdir(parents=True, exist_ok=True)
    target, room = keep / f"{running.case.name}.tar.gz", 40 << 20
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(running.folder.rglob("*"), key=lambda path: path.stat().st_size):
            room -= path.stat().st_size if path.is_file() else 0
            if path.is_file() and room > 0:
                archive.add(path, path.relative_to(running.folder))
    if target.stat().st_size > 16 << 20:
        target.unlink()


def run_all(cases, child_words, folder, *, jobs, end_s, slower, keep, done):
    """`done(name, row)` for each case as it ends. Cases that measure time run alone, last."""
    waiting = sorted(cases, key=lambda case: case.alone)
    running = []
    while waiting or running:
        for now in list(running):
            row = now.row()
            if row is not None:
                running.remove(now)
                keep_failed(now, row, keep)
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
            limit = min(next_case.limit_s * slower, left)
            running.append(Running(next_case, folder / next_case.name, child_words, round(limit)))
        time.sleep(0.05)
