"""Where the processes of a case that did not end stand: kept with what it left."""

import os
import pathlib
import shutil
import subprocess

# On a machine that is lent there may be no other than CUDA's.
DEBUGGERS = ("gdb", "cuda-gdb")
LIMIT_S = 30
# A lent machine is paid by the second.
MOST_PROCESSES = 3


def _session_of(pid):
    try:
        # After the name, which may hold anything: state, parent, group, session.
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, ValueError, IndexError):
        return None


def keep_stacks(session, folder):
    """Of the youngest processes of the session, each in a file of its own; nothing where no debugger is."""
    debugger = next(filter(None, map(shutil.which, DEBUGGERS)), None)
    if debugger is None:
        return
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and _session_of(name) == session]
    for pid in sorted(pids)[-MOST_PROCESSES:]:  # the youngest: the case's programs, not the suite
        with open(folder / f"stacks-{pid}.txt", "w") as file:
            try:
                subprocess.run([debugger, "-batch", "-p", str(pid), "-ex", "thread apply all bt 40"], stdout=file,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                file.write(f"\n{error}\n")
