"""Runs one program and says what became of it, of what it printed, of its files and of every process
that it left behind. Nothing that it started outlives the run, whatever happens."""
import ctypes
import json
import os
import pathlib
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# What a program leaves running may end by itself within this time.
GRACE_S = 5


class TooLate(Exception):
    pass


def _interrupt(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)  # it would come again while the first is dealt with
    raise TooLate


def _children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
        except OSError:
            continue
        # "<pid> (<name>) <state> <parent> ...": the name may hold anything.
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(entry))
    return found


def _kill_all():
    """As a subreaper: children of what is killed become ours."""
    while children := _children_of(os.getpid()):
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def _wait_for(pid, limit_s):
    """The wait status of the program, or None when the time is up."""
    deadline = time.monotonic() + limit_s
    signal.setitimer(signal.ITIMER_REAL, limit_s, 0.05)
    try:
        while time.monotonic() < deadline:
            done, status = os.waitpid(-1, 0)
            if done == pid:
                return status
    except TooLate:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def _wait_for_the_rest():
    """How many processes had not ended by themselves."""
    deadline = time.monotonic() + GRACE_S
    try:
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
    except ChildProcessError:
        return 0
    return len(_children_of(os.getpid()))


def _start(command, environment, folder, out, err):
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        # A shell has what it starts with `&` ignore SIGINT and SIGQUIT, nohup SIGHUP: programs would end otherwise.
        for number in ("ALRM", "TERM", "PIPE", "INT", "QUIT", "HUP"):
            signal.signal(getattr(signal, f"SIG{number}"), signal.SIG_DFL)
        os.setsid()
        os.chdir(folder)
        for number, (name, flags) in enumerate(((os.devnull, os.O_RDONLY), (out, os.O_WRONLY), (err, os.O_WRONLY))):
            # Files and no pipes: nobody can be kept waiting by one that a process still holds.
            opened = os.open(name, flags | (os.O_CREAT if number else 0) | (os.O_APPEND if number else 0), 0o644)
            os.dup2(opened, number)
        os.closerange(3, 1024)
        os.execve(command[0], command, environment)
    finally:
        os._exit(126)


def _files_in(folder):
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        facts = path.lstat()
        content = path.read_bytes().decode(errors="replace") if path.is_file() and facts.st_size < 100_000 else ""
        found[str(path.relative_to(folder))] = [oct(facts.st_mode), content]
    return found


def run(command, environment, folder, out, err, limit_s):
    """In a process of its own: {"code", "left", "files", "seconds"}; the code is "hangs" for what did not end."""
    signal.signal(signal.SIGALRM, _interrupt)
    started = time.monotonic()
    pid = _start(command, environment, folder, out, err)
    try:
        status = _wait_for(pid, limit_s)
        seconds = time.monotonic() - started
        left = _wait_for_the_rest() if status is not None else 0
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        _kill_all()
    code = "hangs" if status is None else os.waitstatus_to_exitcode(status)
    return {"code": code, "left": left, "files": _files_in(folder), "seconds": seconds}


def start(result_file, *arguments):
    """Forks a keeper that runs a program and leaves a result; its pid."""
    parent = os.getpid()
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        libc = ctypes.CDLL(None)
        # Should the runner be killed, its programs are too.
        signal.signal(signal.SIGTERM, lambda *_: (_kill_all(), os._exit(1)))
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() == parent:
            pathlib.Path(result_file).write_text(json.dumps(run(*arguments)))
    except BaseException as problem:  # a forked child must not go on as its parent
        print(f"keeper: {problem!r}", file=sys.stderr, flush=True)
        _kill_all()
        os._exit(1)
    os._exit(0)
