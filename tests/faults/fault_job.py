"""One run of a command in folders of its own with faults in the agent's calls; what it left."""

import collections
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from places import BUILD, LIBRARY

FAULTS = BUILD / "programs/libfaults.so"
LIMIT_S = 60  # whoever is not done by then hangs
RESULT = re.compile(r"\d+ events, \d+ lost")


class Ended:
    """Of a run: how it ended, what it said, and the folders' contents where those were kept."""

    def __init__(self, code, out, err, wall_s):
        self.code, self.out, self.err, self.wall_s = code, out, err, wall_s

    def lines(self):
        return [line for line in self.err.splitlines() if line.startswith("traceagent: ")]

    def problem_lines(self):
        return [line for line in self.lines() if not RESULT.search(line)]

    def own_err(self):
        return [line for line in self.err.splitlines() if not line.startswith("traceagent: ")]


@contextlib.contextmanager
def terminal():
    """(where a process writes, what shows what it wrote)"""
    ours, theirs = os.openpty()

    def shown():
        """Without the lines that were taken away again. All of a short run fits into the terminal's own buffer."""
        os.set_blocking(ours, False)
        text = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(ours, 4096):
                text += piece
        return re.sub(r"\r[^\r\n]*\033\[K", "", text.decode(errors="replace"))
    try:
        yield theirs, shown
    finally:
        os.close(ours), os.close(theirs)


@contextlib.contextmanager
def plain_file():
    with tempfile.TemporaryFile() as file:
        def text():
            file.seek(0)
            return file.read().decode(errors="replace")
        yield file, text


def lives(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def run_bounded(command, variables, folder, has_terminal=False, goes_on_s=0):
    """In a session of its own, ended whole at the end: whatever the command forked is gone then, at once or after
    `goes_on_s`. Its outputs are files, so that nobody who holds them is waited for; or its errors go to a terminal."""
    with plain_file() as (out, out_text), (terminal() if has_terminal else plain_file()) as (err, err_text):
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], env=variables, cwd=folder, stdout=out,
                                   stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            code = "hangs"
        wall_s = time.monotonic() - began
        while code != "hangs" and lives(process.pid) and time.monotonic() < began + wall_s + goes_on_s:
            time.sleep(0.02)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        return Ended(code, out_text(), err_text(), wall_s)


def processes_with(*places):
    """Whose command line names one: a keeper is in a session of its own."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        if any(str(place).encode() in words for place in places):
            found.append(int(folder.name))
    return found


def differing(before, now):
    """Where, of two contents of a file."""
    if len(before) != len(now):
        return f"{len(before)} bytes before, {len(now)} now"
    at = [i for i, (a, b) in enumerate(zip(before, now)) if a != b]
    return f"{len(at)} bytes differ, from {at[0]} to {at[-1]}"


class Place:
    """A working folder and one for rings."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="traceagent-faults-"))
        self.rings = pathlib.Path(tempfile.mkdtemp(prefix="traceagent-faults-", dir="/dev/shm"))
        self.table = self.rings.with_name(self.rings.name + ".places")
        self.older = []  # files in memory, of a run that was killed before
        self.older_go = False  # are to be removed
        self.older_bytes = {}  # of its rings
        self.damaged = []  # files that a job finds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_keepers(0)
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.rings, ignore_errors=True)
        self.table.unlink(missing_ok=True)

    def variables(self, preload, faults="", **more):
        kept = {key: value for key, value in os.environ.items()
                if not re.match(r"TRACEAGENT_|AWS_|OMPI_|PMI|SLURM_|FAULTS|(RANK|LOCAL_RANK|WORLD_SIZE|LD_PRELOAD)$",
                                key)}
        kept["LD_LIBRARY_PATH"] = f"{BUILD}/sim/lib:{BUILD}/sim/cupti:{BUILD}/programs"
        if preload:
            kept |= {"LD_PRELOAD": " ".join(map(str, preload)), "TRACEAGENT_RING_FOLDER": str(self.rings),
                     "FAULTS": faults, "FAULTS_PLACES": str(self.table)}
        return kept | {key: str(value) for key, value in more.items()}

    def run(self, command, preload=(LIBRARY, FAULTS), faults="", has_terminal=False, goes_on_s=0, **more):
        return run_bounded(command, self.variables(preload, faults, **more), self.path, has_terminal, goes_on_s)

    def end_keepers(self, patience_s):
        """Keepers and uploaders: whether they ended by themselves."""
        deadline = time.monotonic() + patience_s
        while (left := processes_with(self.rings, self.path)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    def clear(self):
        for folder in (self.path, self.rings):
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)

    def files(self):
        """Name → bytes of all that lies in the working folder. What goes meanwhile (a process that the cell left
        behind clears up) is not there."""
        found = {}
        for folder, _, names in os.walk(self.path):
            for path in (pathlib.Path(folder, name) for name in names):
                with contextlib.suppress(FileNotFoundError):
                    if path.is_file():
                        found[str(path.relative_to(self.path))] = path.read_bytes()
        return dict(sorted(found.items()))

    def keep_in_mind(self):
        """Its rings as they are: a hole reads as the zeros of memory that nobody has used."""
        self.older_bytes = {path: path.read_bytes() for path in self.older if path.suffix == ".ring"}

    def changed_older(self):
        return [f"{path.name}: {differing(data, path.read_bytes())}" for path, data in self.older_bytes.items()
                if path.exists() and path.read_bytes() != data]

    def take_older(self):
        """Wherever they are now. What was not moved has its notes beside it. Returns the rings that are gone."""
        rings = {path.name for path in self.older if path.suffix == ".ring"}
        found = [path for path in self.rings.rglob("*.ring") if path.name in rings]
        # Where the old run stays so does the note of who would have removed it.
        for path in found if self.older_go else []:
            path.with_name("aside").unlink(missing_ok=True)
        for path in found:
            path.unlink()
            path.with_suffix(".files").unlink(missing_ok=True)
        is_here = self.older_go or any(path in self.older for path in found)
        for path in self.older if is_here else []:
            path.unlink(missing_ok=True)
        return set() if self.older_go else rings - {path.name for path in found}

    def left_in_memory(self):
        return sorted(str(path.relative_to(self.rings)) for path in self.rings.rglob("*") if path.is_file())


def lacks_included_alone(trace):
    """What the tool was to put in and did not: the line that says so is looked at, and the file names it too."""
    told = trace["traceagent"]
    faults = told.get("incomplete", [])
    return faults != [] and not told["missing_ranks"] and all(fault["file"].startswith("merge.include: ") for fault in faults)


class Traces:
    """The trace files among the files of a folder; pids in names are gone."""

    def __init__(self, files):
        self.broken, self.contents = {}, {}
        for name, data in files.items():
            if not name.startswith(("out/", "there/")) and "/traces/" not in name or name.endswith(".log"):
                continue
            if "/.traceagent-upload/" in name:
                continue
            shown = re.sub(r"-pid\d+", "-pid", name)
            try:
                is_zipped = data[:2] == b"\x1f\x8b"
                trace = json.loads(gzip.decompress(data) if is_zipped else data)
                if "/index/" in name:
                    continue
                if not name.endswith(".json.gz" if is_zipped else ".json"):
                    self.broken[shown] = "not a final name"
                elif trace.get("complete") is not True and not lacks_included_alone(trace):
                    self.broken[shown] = "not complete"
                self.contents[shown] = trace
            except (ValueError, OSError, EOFError) as error:
                self.broken[shown] = f"{error} in {len(data)} bytes"

    def counts(self):
        """Name of the file → category → number of slices."""
        return {name: collections.Counter(event["cat"] for event in trace["traceEvents"] if event["ph"] == "X")
                for name, trace in self.contents.items()}
