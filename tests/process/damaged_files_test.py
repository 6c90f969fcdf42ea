#!/usr/bin/env python3
"""`traceagent merge` of files that are damaged in their middle: what is whole of them is there, nothing is made
up, and what is lost is told as far as it can be known."""
import faulthandler
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

from jobs import Checks
from merge_model import File
from places import BUILD, need

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
BASE = 1_700_000_000_000_000_000
checks = Checks()
check = checks.check


def merge(*words, code=0):
    result = subprocess.run([str(word) for word in (TRACEAGENT, "merge", *words)], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=60)
    check(result.returncode == code, f"merge {words}: {result}")
    return result


def rank_file(path):
    path.parent.mkdir(parents=True)
    events = [{"ts": ts, "dur": 10, "ph": "X", "cat": "c", "name": f"e{ts}", "pid": 0, "tid": 1, "args": {}}
              for ts in range(0, 30_000, 10)]
    return File(path, 0, BASE, events).write()


def document_of(path):
    return json.loads(path.read_bytes())


def in_members(text, lines_each):
    """As our writer does: each gzip member holds whole lines."""
    lines = text.splitlines(keepends=True)
    parts = [b"".join(lines[i:i + lines_each]) for i in range(0, len(lines), lines_each)]
    return [gzip.compress(part) for part in parts]


def damaged_in(members, number):
    bad = bytearray(members[number])
    bad[len(bad) // 2] ^= 0x55
    return b"".join(members[:number]) + bytes(bad) + b"".join(members[number + 1:])


def test_damaged_gzip(folder):
    """Of many members one alone is lost. How many events that is, is told only where the file knows."""
    path, out = rank_file(folder / "gzip/rank0.json"), folder / "gzip_out.json"
    text = path.read_bytes()
    for knows in (True, False):
        members = in_members(text.replace(b'"dropped"', b'"events": 3000, "dropped"') if knows else text, 200)
        path.write_bytes(damaged_in(members, 7))
        begin = sum(len(member) for member in members[:7])
        said = merge(path, "-o", out, "--force", code=1)
        place = f"damaged gzip data: {path}: at byte {begin} to {begin + len(members[7])} of the compressed file: "
        check(place in said.stderr, f"{said}")
        node = document_of(out)
        events = sum(event["ph"] == "X" for event in node["traceEvents"])
        check(2800 <= events < 3000, f"{events} events")
        about = node["traceagent"]
        check(place in about["incomplete"][0]["problem"] and len(about["incomplete"]) == 1, f"{about}")
        if knows:
            check(about["dropped"] == {"damaged_gzip": 3000 - events}, f"{about}")
            check(f"{events} events, {3000 - events} events lost (damaged_gzip {3000 - events})" in said.stdout, f"{said}")
        else:
            check(about["dropped"] == {"damaged_gzip_places": 1}, f"{about}")
            check(f"{events} events, damaged_gzip_places 1 (how many events were there is not known), " in said.stdout,
                  f"{said}")
        out.unlink()
        merge(path, "-o", out, "--strict", code=1)
        check(not out.exists(), "--strict")


def test_damaged_end_of_gzip(folder):
    """`check` takes it for no rank that recorded nothing."""
    path, out = rank_file(folder / "end/rank0.json"), folder / "end_out.json"
    members = in_members(path.read_bytes(), 200)
    path.write_bytes(damaged_in(members, len(members) - 1))
    merge(path, "-o", out, "--force", code=1)
    said = subprocess.run([TRACEAGENT, "check", out], capture_output=True, text=True, timeout=60)
    check(said.returncode == 1, f"{said}")
    check("Damaged: rank0.json" in said.stdout and "1: damaged_gzip_places" in said.stdout, f"{said}")
    check("what its writer said at its end is lost" in said.stdout, f"{said}")
    check(" pid 0" not in said.stdout and "trace again" not in said.stdout, f"{said}")


def test_others_damaged_gzip(folder):
    """Another program's: its events lie across the ends of the members."""
    path, out = folder / "other/trace.json.gz", folder / "other_out.json"
    path.parent.mkdir()
    text = ",\n".join(json.dumps({"name": f"e{i}", "ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1})
                      for i in range(3000))
    text = f"[{text}]".encode()
    members = [gzip.compress(text[at:at + 10_000]) for at in range(0, len(text), 10_000)]
    path.write_bytes(damaged_in(members, 9))
    said = merge(path, "-o", out, code=1)
    node = document_of(out)
    names = {event["name"] for event in node["traceEvents"] if event["ph"] == "X"}
    check(len(names) > 2700 and "e2999" in names, f"{len(names)} events")
    begin = sum(len(member) for member in members[:9])
    check(f"{path}: at byte {begin} to {begin + len(members[9])} of the compressed file: " in said.stderr, f"{said}")
    check(node["traceagent"]["dropped"] == {"damaged_gzip_places": 1}, f"{node['traceagent']['dropped']}")
    check(len(node["traceagent"]["incomplete"]) == 1, f"{node['traceagent']}")
    out.unlink()
    merge(path, "-o", out, "--strict", code=1)
    check(not out.exists(), "--strict")


def test_hole_of_zeros(folder):
    """As a file system leaves it that crashed: its ends lie in two names, of which no third one is made."""
    path, out = folder / "hole/trace.json", folder / "hole_out.json"
    path.parent.mkdir()
    text = json.dumps([{"name": f"kernel {i}", "ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(1000)])
    begin, end = text.index("el 300"), text.index("nel 360")
    path.write_text(text[:begin] + "\0" * (end - begin) + text[end:])
    said = merge(path, "-o", out, code=1)
    check(f"zeros in the place of text: {path}: at byte {begin} to {end}: " in said.stderr, f"{said}")
    node = document_of(out)
    names = [event["name"] for event in node["traceEvents"] if event["ph"] == "X"]
    check(names == [f"kernel {i}" for i in range(1000) if not 300 <= i <= 360], f"{names[295:305]}")
    check(node["traceagent"]["dropped"] == {"zeroed_places": 1}, f"{node['traceagent']['dropped']}")
    check(len(node["traceagent"]["incomplete"]) == 1, f"{node['traceagent']}")


def main():
    faulthandler.dump_traceback_later(100, exit=True)  # says where it hangs, before ctest ends it
    with tempfile.TemporaryDirectory() as name:
        for test in (test_damaged_gzip, test_damaged_end_of_gzip, test_others_damaged_gzip, test_hole_of_zeros):
            test(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
