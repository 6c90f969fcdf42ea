"""Runs a command so that nothing of it is left at the end, whatever it starts and however it ends."""

import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None)


class Ended:
    """`code` is the exit code, -N for a signal, or "timeout". `survivors` were killed at the end."""

    def __init__(self, code, out, err, seconds, survivors):
        self.code, self.out, self.err = code, out, err
        self.seconds, self.survivors = seconds, survivors

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out[-1500:]!r}, stderr {self.err[-1500:]!r}"

    def agent_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("traceagent: ")]

    def own_err(self):
        return [line for line in self.err.splitlines() if not line.startswith("traceagent: ")]


def adopt_orphans():
    """Daemons and whatever leaves its session become children of this process, and can be found."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _parent_of(process):
    try:
        text = (process / "stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def descendants():
    parents = {int(p.name): _parent_of(p) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()}
    found, wave = set(), {os.getpid()}
    while wave:
        wave = {pid for pid, parent in parents.items() if parent in wave} - found
        found |= wave
    return found


def _reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def end_survivors(patience_s=0.0):
    """Kills what is left; how many there were after `patience_s`, in which they may end by themselves."""
    until = time.monotonic() + patience_s
    _reap()
    while descendants() and time.monotonic() < until:
        time.sleep(0.05)
        _reap()
    killed = set()
    for _ in range(100):
        left = descendants()
        if not left:
            break
        killed |= left
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        _reap()
    return len(killed)


def run(command, folder, variables, timeout_s, patience_s=5.0):
    """Its output goes to files: a pipe would stay open as long as any grandchild."""
    adopt_orphans()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], cwd=folder, env=variables,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True, preexec_fn=_die_with_parent)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code, patience_s = "timeout", 0.0
        seconds = time.monotonic() - started
        survivors = end_survivors(patience_s)
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(errors="replace"), err.read().decode(errors="replace"),
                     seconds, survivors)
