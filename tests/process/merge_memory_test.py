#!/usr/bin/env python3
"""What `traceagent merge` takes of memory with 64 inputs of more than 100 MB: of ours and of others', all of it or
chosen from, it is far from what they hold."""
import os
import pathlib
import subprocess
import sys
import tempfile

from places import BUILD, SANITIZED, need

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
FILES, EVENTS = 64, 6000
BASE_NS = 1_700_000_000_000_000_000
HEAD = ('{{\n"schemaVersion": 1,\n"distributedInfo": {{"rank": {rank}, "world_size": 64, "run_key": "r"}},\n'
        f'"displayTimeUnit": "ns",\n"baseTimeNanoseconds": {BASE_NS},\n"traceName": "r{{rank}}.json",\n'
        '"deviceProperties": [],\n"traceEvents": [\n')
TAIL = '\n],\n"traceagent": {{"identity": {{"rank": {rank}}}, "dropped": {{}}}},\n"complete": true\n}}\n'
OUTPUT = '"Input Dims": [[32, 64, 56, 56], [64], [64], [64], [64], [], [], []], "Input type": ["float", "float"]'
failures = []


def own_files(folder):
    lines = ",\n".join(f'{{"ts":{i * 10}.{i % 1000:03d},"dur":7.500,"ph":"X","cat":"c{i % 3}","name":"aten::op_{i % 50}",'
                       f'"pid":RANK,"tid":1,"args":{{"External id": {i}, {OUTPUT}, "more": "{"x" * 70}"}}}}'
                       for i in range(EVENTS))
    for rank in range(FILES):
        path = folder / f"r{rank}.json"
        path.write_text(HEAD.format(rank=rank) + lines.replace("RANK", str(rank)) + TAIL.format(rank=rank))
        yield path


def foreign_files(folder):
    """Alike, but for their names, which tell the rank; an array, as others write it."""
    text = "[\n" + ",\n".join(
        f'  {{"name": "aten::op_{i % 50}", "cat": "c{i % 3}", "ph": "X", "ts": {BASE_NS // 1000 + i * 10}, "dur": 7.5, '
        f'"pid": 4037, "tid": 1, "args": {{"External id": {i}, {OUTPUT}, "more": "{"x" * 50}"}}}}'
        for i in range(EVENTS)) + "\n]\n"
    for rank in range(FILES):
        path = folder / f"rank{rank}.json"
        path.write_text(text)
        yield path


def peak_of(*words):
    """(what it said, bytes of memory), of one run alone: at least what this process held when it began."""
    command = ["timeout", "--signal=KILL", "100", TRACEAGENT, "merge", *words]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        failures.append(f"{words}: {process.returncode}: {said}")
    return said, usage.ru_maxrss << 10


def look_at(kind, paths, limit_bytes, *choices):
    paths = list(paths)
    size = sum(path.stat().st_size for path in paths)
    if size < 100_000_000:
        failures.append(f"{kind}: only {size} bytes to hold")
    for words, events in choices:
        said, peak = peak_of(*paths, "-o", paths[0].with_name("merged.out"), "--force", "--align", "none", *words)
        print(f"{FILES} files of {kind}, {size / 1e6:.0f} MB, {' '.join(words)}: {events} events, "
              f"at most {peak / 1e6:.1f} MB of memory")
        if f"{FILES} ranks, {events} events" not in said:
            failures.append(f"{kind} {words}: not {events} events: {said}")
        # A sanitizer keeps what is freed, and a shadow of it all.
        if peak > limit_bytes and not SANITIZED:
            failures.append(f"{kind} {words}: {peak} bytes of memory")
    for path in paths:
        path.unlink()


def main():
    # The first millisecond has 100 slices of a file, the last of which ends behind it, and its end is the next's begin.
    first_ms = (["--time", "+0us", "+1ms", "--clip"], FILES * 100)
    of_one = (["--category", "c1"], FILES * EVENTS // 3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        look_at("ours", own_files(folder), 40 << 20, ([], FILES * EVENTS), first_ms, of_one)
        look_at("others'", foreign_files(folder), 60 << 20, ([], FILES * EVENTS), of_one)
    print(*(f"FAILED: {failure[:2000]}" for failure in failures), sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
