"""The three mergers, and files that all of them take."""
import collections
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
START_US = 1_700_000_000_000_000


def install(folder):
    """The python of a venv that has the two packages."""
    python = folder / "venv/bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=300)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "mosaicml==0.32.1", "smdebug==1.0.34"],
                       check=True, timeout=600)
        (folder / "installed").touch()
    return python


class Merge:
    """What a merger made of its files, in what time and memory."""

    def __init__(self, command, output):
        output.unlink(missing_ok=True)
        told, tells = os.pipe()
        starter = [sys.executable, "-S", HERE / "measured.py", tells]
        process = subprocess.Popen([str(word) for word in [*starter, *command]], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, pass_fds=[tells],
                                   env=os.environ | {"PYTHONWARNINGS": "ignore"})
        os.close(tells)
        self.said, _ = process.communicate()
        with open(told, encoding="utf-8") as measured:
            usage = json.load(measured)
        self.seconds, self.cpu_seconds, self.peak_mb = usage["seconds"], usage["cpu_seconds"], usage["peak_mb"]
        self.ok = usage["code"] == 0
        self.output = output

    def events(self):
        """Absolute times in ns; without metadata, pid and tid, which all three set as they like."""
        try:
            document = json.loads(self.output.read_text())
        except (OSError, ValueError):
            return None
        is_list = isinstance(document, list)
        base = 0 if is_list else document["baseTimeNanoseconds"]
        return [(base + round(e["ts"] * 1000), e["ph"], e.get("name"), round(e.get("dur", 0) * 1000),
                 json.dumps(e.get("args"), sort_keys=True), e["pid"])
                for e in (document if is_list else document["traceEvents"]) if e["ph"] != "M"]

    def failure(self):
        return self.said.strip().splitlines()[-1][:70] if self.said.strip() else "no output"


class Mergers:
    def __init__(self, build, python, folder, tells_io=False):
        self.tool, self.python, self.folder = build / "bin/traceagent", python, folder
        # A shell has what its children have read.
        self.before = ["sh", "-c", '"$@"; cat /proc/$$/io', "sh"] if tells_io else []

    def ours(self, *files, options=()):
        output = self.folder / "ours.json"
        return Merge([*self.before, self.tool, "merge", *files, "-o", output, "--force", *options], output)

    def cat(self, *files):
        output = self.folder / "cat.json"
        return Merge(["sh", "-c", 'cat "$@" > "$0"', output, *files], output)

    def composer(self, *files):
        output = self.folder / "composer.json"
        return Merge([*self.before, self.python, HERE / "theirs.py", "composer", output, *files], output)

    def smdebug(self, folder, *window):
        """The window in us since the epoch, or (first, last, "step")."""
        output = self.folder / "smdebug.json"
        window = window or (START_US - 10**9, START_US + 10**12)
        return Merge([self.python, HERE / "theirs.py", "smdebug", output, folder, *window], output)


def metadata(rank, sync_us=START_US):
    values = {"process_name": {"name": f"Rank {rank} training loop"}, "thread_name": {"name": "Training Loop"},
              "global_rank": {"value": rank}, "clock_sync_timestamp_us": {"value": sync_us},
              "clock_sync_error_bound": {"value": 10}}
    return [{"name": name, "ph": "M", "pid": rank, "tid": 71, "args": args, "ts": START_US} for name, args in values.items()]


def slices(rank, count):
    for i in range(count):
        yield {"name": f"aten::batch_norm_{i % 50}", "cat": "cpu_op", "ph": "X", "ts": START_US + i * 5 + i * 7919 % 40,
               "dur": i % 100 + 1, "pid": rank, "tid": 71,
               "args": {"External id": i, "Record function id": 0, "Sequence number": i, "Fwd thread id": 0,
                        "Input Dims": [[32, 64, 56, 56], [64], [64]], "Input type": ["float", "float"]}}


def write(folder, rank, events, ends="]", name=None):
    """In the folder, and under the name, in which SageMaker Debugger looks for it."""
    place = folder / "framework/pevents/2023111422"
    place.mkdir(parents=True, exist_ok=True)
    path = place / (name or f"{START_US + 10**9}_{rank}-algo-1_pythontimeline.json")
    # Not held whole: a process that is started counts what its parent held as its own peak.
    with path.open("w") as file:
        for i, event in enumerate(events):
            file.write((",\n" if i else "[\n") + json.dumps(event))
        file.write("\n" + ends)
    return path


def counted(events, phases=None):
    return collections.Counter(event[:5] for event in events if phases is None or event[1] in phases)


def is_sorted(events):
    return all(a[0] <= b[0] for a, b in zip(events, events[1:]))
