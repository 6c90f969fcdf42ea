#!/usr/bin/env python3
"""traceagent merge beside Composer's and SageMaker Debugger's own mergers, on the same files. Installs their wheels from PyPI, without dependencies, into BUILD/compare (once). By hand; what it
printed is in RESULTS.md.
"""
import argparse
import itertools
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from backed_memory import backed_memory
from defects import composer_costs, composer_defects, smdebug_defects
from mergers import START_US, Mergers, counted, install, metadata, slices, write


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


def stepping(rank, steps):
    """The slices of steps, 10 ms each, a rank's 100 us after the one before, and what is done in them."""
    for step in range(steps):
        begin = START_US + step * 10_000 + rank * 100
        yield {"name": "Step:ModeKeys.TRAIN", "ph": "X", "ts": begin, "dur": 9_000, "pid": rank, "tid": 71,
               "args": {"step_num": str(step)}}
        for part in range(10):
            yield {"name": f"part{part}", "ph": "X", "ts": begin + part * 1000, "dur": 950 + part * 50, "pid": rank, "tid": 72}


def windows(mergers, folder):
    """The same events in a window of time, both edges of which are touched, and in one of steps."""
    files = [write(folder, rank, itertools.chain(metadata(rank), stepping(rank, 20))) for rank in range(4)]
    begin_us, end_us = START_US + 52_200, START_US + 93_100
    for what, window, options in (
            ("of time", (begin_us, end_us), ("--time", begin_us, end_us)),
            ("of the steps 5 to 8", (5, 9, "step"), ("--steps", 5, 9))):
        theirs, ours = mergers.smdebug(folder, *window), mergers.ours(*files, options=["--align", "none", *options])
        wanted = counted(ours.events())
        yield f"slices in a window {what}, of {4 * 20 * 11}", sum(wanted.values()), None, \
            0 < sum(wanted.values()) and wanted == counted(theirs.events() or [])


def measured(way):
    """Its file goes: of the memory that was made ready the next one is to find as much."""
    merge = way()
    merge.output.unlink(missing_ok=True)
    return merge


def table_of(ways, files, arguments):
    """Medians of each way to merge these files, into a file that is not there yet. The two that take seconds at most
    are done five times as often: another's turn on the CPU would show in one. Memory is made ready once all is there
    that stays: the files themselves would take it."""
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    runs = {name: range(arguments.runs * (5 if name in ("cat", "traceagent") else 1)) for name in ways}
    with backed_memory(arguments.backed_gib):
        merges = {name: [measured(way) for _ in runs[name]] for name, way in ways.items()}
    assert all(merge.ok for each in merges.values() for merge in each)
    seconds, cpu = ({name: statistics.median(getattr(merge, what) for merge in merges[name]) for name in ways}
                    for what in ("seconds", "cpu_seconds"))
    print("| merger | s | CPU s | peak MB | MB/s | time / cat's | time / ours | CPU time / ours |\n|" + "---|" * 8)
    for name in ways:
        peak = max(merge.peak_mb for merge in merges[name])
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
             files, arguments)


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
              "traceagent": lambda: mergers.ours(*files)}, files, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=200_000, help="of each rank; 0: no speeds")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--backed-gib", type=float, default=0, help="of free memory beforehand, see backed_memory.py")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    (build / "compare").mkdir(exist_ok=True)
    python = install(build / "compare")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        folder = pathlib.Path(scratch)
        mergers = Mergers(build, python, folder)
        ok = True
        for what, count, *agree in itertools.chain(same_events(mergers, folder / "same"), windows(mergers, folder / "windows")):
            ok = ok and all(each is not False for each in agree)
            print(f"{what}: {count} events, Composer {agree[0]}, SageMaker Debugger {agree[1]}")
        for name, *defects in (("Composer", composer_defects, composer_costs), ("SageMaker Debugger", smdebug_defects)):
            print(f"\n| {name}'s defect | theirs | ours |\n|---|---|---|")
            for what, theirs, ours in itertools.chain(*(each(mergers, folder / name) for each in defects)):
                print(f"| {what} | {theirs} | {ours} |", flush=True)
        if not arguments.events:
            sys.exit(0 if ok else 1)
        speeds(mergers, folder / "speed", arguments)
        shutil.rmtree(folder / "speed")
        (folder / "own").mkdir()
        own_speeds(mergers, build, folder / "own", arguments)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
