#!/usr/bin/env python3
"""traceagent merge beside Composer's and SageMaker Debugger's own mergers, on the same files.

usage: compare.py BUILD [--events N] [--ranks N] [--runs N]
Installs their wheels from PyPI, without dependencies, into BUILD/compare (once). By hand; what it
printed is in RESULTS.md.
"""
import argparse
import collections
import gzip
import itertools
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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
        before = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, env=os.environ | {"PYTHONWARNINGS": "ignore"})
        self.said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds = time.monotonic() - before
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss / 1024
        self.ok = os.waitstatus_to_exitcode(status) == 0
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
    def __init__(self, build, python, folder):
        self.tool, self.python, self.folder = build / "bin/traceagent", python, folder

    def ours(self, *files):
        output = self.folder / "ours.json"
        return Merge([self.tool, "merge", *files, "-o", output, "--force"], output)

    def cat(self, *files):
        output = self.folder / "cat.json"
        return Merge(["sh", "-c", 'cat "$@" > "$0"', output, *files], output)

    def composer(self, *files):
        output = self.folder / "composer.json"
        return Merge([self.python, HERE / "theirs.py", "composer", output, *files], output)

    def smdebug(self, folder, end_us=START_US + 10**12):
        output = self.folder / "smdebug.json"
        return Merge([self.python, HERE / "theirs.py", "smdebug", output, folder, START_US - 10**9, end_us], output)


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


def same_events(mergers, folder):
    """On what all three are right about: the same slices at the same times."""
    files = [write(folder, rank, metadata(rank) + list(slices(rank, 2000))) for rank in range(4)]
    ours, composer, smdebug = mergers.ours(*files), mergers.composer(*files), mergers.smdebug(folder)
    wanted = counted(ours.events())
    yield "slices that all three hold, at the same time", sum(wanted.values()), wanted == counted(composer.events()), \
        wanted == counted(smdebug.events())
    offset = [write(folder / "clocks", rank, metadata(rank, START_US + rank * 777) + list(slices(rank, 2000))) for rank in range(4)]
    ours, composer = mergers.ours(*offset), mergers.composer(*offset)
    yield "the same after Composer's clock synchronisation", sum(counted(ours.events()).values()), \
        counted(ours.events()) == counted(composer.events()), None


def composer_defects(mergers, folder):
    whole = [metadata(rank) + list(slices(rank, 100)) for rank in range(2)]

    def outcome(merge):
        events = merge.events()
        return f"fails: {merge.failure()}" if events is None or not merge.ok else f"{len(events)} events"

    for what, ends in (("a trailing comma, no `]`", ","), ("half an event at the end", ',\n{"name": "half')):
        files = [write(folder / ends[:1].replace(",", "c"), rank, whole[rank], ends) for rank in range(2)]
        yield what, outcome(mergers.composer(*files)), f"{len(mergers.ours(*files).events())} events"
    files = [write(folder, rank, whole[rank]) for rank in range(2)]
    zipped = [path.with_suffix(".json.gz") for path in files]
    for path, target in zip(files, zipped):
        target.write_bytes(gzip.compress(path.read_bytes()))
    yield "gzip", outcome(mergers.composer(*zipped)), f"{len(mergers.ours(*zipped).events())} events"
    theirs, ours = mergers.composer(*files), mergers.ours(*files)
    yield "order of the output", "sorted" if is_sorted(theirs.events()) else "not sorted", \
        "sorted" if is_sorted(ours.events()) else "not sorted"
    yield "the error bound of the clocks", "dropped" if "right within" not in theirs.said else "stated", \
        "stated" if "right within" in ours.said else "dropped"
    merged = folder / "merged.json"
    theirs.output.rename(merged)
    again = [write(folder / "again", rank, whole[rank]) for rank in range(2)]
    theirs, ours = mergers.composer(merged, *again), mergers.ours(merged, *again)
    def ranks(merge):
        return dict(sorted(collections.Counter(event[5] % 1_000_000 for event in merge.events()).items()))
    yield "a merged file and a second cycle: events by rank", f"{ranks(theirs)}", f"{ranks(ours)}"
    kineto = folder / "kineto_rank1.json"
    document = {"global_rank": 1, "clock_sync_timestamp_us": START_US, "distributedInfo": {"rank": 1, "world_size": 2},
                "baseTimeNanoseconds": 1_500_000_000 * 10**9,
                "traceEvents": [{"ph": "X", "name": "op", "cat": "cpu_op", "pid": 4, "tid": 4, "dur": 1,
                                 "ts": START_US - 1_500_000_000 * 10**6 + 0.125}]}
    kineto.write_text(json.dumps(document))
    theirs, ours = mergers.composer(files[0], kineto), mergers.ours(files[0], kineto)
    def off_by(merge):
        at = min(event[0] for event in merge.events() if event[2] == "op")
        return f"{abs(at - START_US * 1000 - 125) / 1e9 / 86400 / 365.25:.1f} years off"
    yield "PyTorch's file with baseTimeNanoseconds", off_by(theirs), off_by(ours)


def smdebug_defects(mergers, folder):
    def event(phase, at, tid=71, **more):
        return {"name": f"{phase}{tid}", "ph": phase, "ts": START_US + at, "pid": 0, "tid": tid, **more}

    head = metadata(0)
    others = head + [event("X", 0, dur=5), event("C", 1, args={"a": 1}), event("i", 2, s="t"), event("s", 3, id=1),
                     event("f", 4, id=1, bp="e"), event("b", 5, id=2, cat="x"), event("e", 6, id=2, cat="x")]
    def phases(merge):
        return "".join(sorted(event[1] for event in merge.events() or []))
    files = [write(folder / "phases", 0, others)]
    yield "phases kept of X C i s f b e", phases(mergers.smdebug(folder / "phases")), phases(mergers.ours(*files))
    nested = head + [event("B", 0, 1), event("B", 10, 2), event("E", 20, 1), event("E", 50, 2)]
    files = [write(folder / "threads", 0, nested)]
    theirs = {e[2]: e[3] // 1000 for e in mergers.smdebug(folder / "threads").events()}
    begun = {}
    for at, phase, name, *_ in mergers.ours(*files).events():
        begun[name[1:]] = at - begun.get(name[1:], 0) if phase == "E" else at
    yield "two threads' B and E that interleave (20 and 40 us)", f"{theirs}", f"{ {k: v // 1000 for k, v in begun.items()} }"
    files = [write(folder / "cut", 0, head + list(slices(0, 100)), ',\n{"name": "half')]
    yield "a file cut within an event: events kept of 100", len(mergers.smdebug(folder / "cut").events() or []), \
        len(mergers.ours(*files).events())
    (folder / "empty").mkdir()
    write(folder / "empty", 0, head + list(slices(0, 100)))
    theirs = mergers.smdebug(folder / "empty", START_US - 10**8)
    size = theirs.output.stat().st_size if theirs.output.exists() else "no file"
    ours = Merge([mergers.tool, "merge", *files, "-o", mergers.folder / "ours.json", "--force", "--time",
                  START_US - 10**9, START_US - 10**8], mergers.folder / "ours.json")
    yield "a window without events", f"{size} bytes", "a valid trace" if ours.events() == [] else ours.failure()


def table_of(ways, files, runs):
    """Times of each way to merge these files, one after the other in each round; the last is ours."""
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    rounds = [{name: way() for name, way in ways.items()} for _ in range(runs)]
    assert all(merge.ok for each in rounds for merge in each.values())
    seconds, cpu = ({name: statistics.median(getattr(each[name], what) for each in rounds) for name in ways}
                    for what in ("seconds", "cpu_seconds"))
    print("| merger | s | CPU s | peak MB | MB/s | time / cat's | time / ours | CPU time / ours |\n|" + "---|" * 8)
    for name in ways:
        peak = max(each[name].peak_mb for each in rounds)
        print(f"| {name} | {seconds[name]:.2f} | {cpu[name]:.2f} | {peak:.0f} | {megabytes / seconds[name]:.0f} | "
              f"{seconds[name] / seconds['cat']:.1f} | {seconds[name] / seconds['traceagent']:.1f} | "
              f"{cpu[name] / cpu['traceagent']:.1f} |", flush=True)


def speeds(mergers, folder, arguments):
    files = [write(folder, rank, itertools.chain(metadata(rank), slices(rank, arguments.events)))
             for rank in range(arguments.ranks)]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(f"\nFiles of the form that Composer and SageMaker Debugger write: {arguments.ranks} of {arguments.events:,} events, "
          f"{megabytes:.0f} MB, median of {arguments.runs}:\n")
    table_of({"cat": lambda: mergers.cat(*files), "Composer": lambda: mergers.composer(*files),
              "SageMaker Debugger": lambda: mergers.smdebug(folder), "traceagent": lambda: mergers.ours(*files)},
             files, arguments.runs)


def own_events(path):
    """Of a rank file of ours, with times since 1970 as they are in the array form."""
    with path.open() as lines:
        for line in lines:
            if line.startswith('{"ts":'):
                event = json.loads(line.rstrip(",\n"))
                yield event | {"ts": START_US + event["ts"]}


def own_speeds(mergers, build, folder, arguments):
    subprocess.run([build / "bin/merge_bench_files", folder, str(arguments.ranks), str(arguments.events), "plain"],
                   check=True, timeout=1800)
    files = [folder / f"rank{rank}.json" for rank in range(arguments.ranks)]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(f"\nOur own files: {arguments.ranks} of {arguments.events:,} events, {megabytes:.0f} MB, median of "
          f"{arguments.runs}. As they stand:\n")
    composer, empty = mergers.composer(*files[:1]), folder / "as_they_stand"
    target = write(empty, 0, [])
    target.write_bytes(files[0].read_bytes())
    taken = mergers.smdebug(empty).events()
    print(f"- Composer: {'reads them' if composer.ok else 'fails: ' + composer.failure()}\n"
          f"- SageMaker Debugger: takes {len(taken or [])} of {arguments.events:,} events\n\n"
          "So these two have the same events as arrays, with their own marks:\n")
    arrays = [write(folder / "arrays", rank, itertools.chain(metadata(rank), own_events(path)))
              for rank, path in enumerate(files)]
    table_of({"cat": lambda: mergers.cat(*files), "Composer": lambda: mergers.composer(*arrays),
              "SageMaker Debugger": lambda: mergers.smdebug(folder / "arrays"),
              "traceagent": lambda: mergers.ours(*files)}, files, arguments.runs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    (build / "compare").mkdir(exist_ok=True)
    python = install(build / "compare")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        folder = pathlib.Path(scratch)
        mergers = Mergers(build, python, folder)
        ok = True
        for what, count, *agree in same_events(mergers, folder / "same"):
            ok = ok and all(each is not False for each in agree)
            print(f"{what}: {count} events, Composer {agree[0]}, SageMaker Debugger {agree[1]}")
        for name, defects in (("Composer", composer_defects), ("SageMaker Debugger", smdebug_defects)):
            print(f"\n| {name}'s defect | theirs | ours |\n|---|---|---|")
            for what, theirs, ours in defects(mergers, folder / name):
                print(f"| {what} | {theirs} | {ours} |")
        speeds(mergers, folder / "speed", arguments)
        shutil.rmtree(folder / "speed")
        (folder / "own").mkdir()
        own_speeds(mergers, build, folder / "own", arguments)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
