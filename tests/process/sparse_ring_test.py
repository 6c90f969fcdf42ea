#!/usr/bin/env python3
"""traceagent recover on rings with holes: a sparse copy gives what the ring itself gives, and one that somebody made
gigantic takes neither its size in memory nor an age."""
import resource
import struct
import subprocess
import sys
import time

from jobs import PROGRAMS, TRACEAGENT, Checks, Place, calls_in
from places import LIBRARY, SLOWDOWN, need

checks = Checks()
check = checks.check
KILLED = {"TRACEAGENT_SCHEDULE": "warmup=0,active=1000000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
          "TRACEAGENT_RING_SIZE": "1MiB"}
GIB = 1 << 30
# Header::file_bytes, names_offset, names_bytes, chunks_offset, chunk_count; Chunk::claim_number.
SIZES, SIZES_AT, CHUNK_BYTES, CLAIM_AT = "<QQQQQ", 16, 64 * 1024, 8


def killed(place):
    place.run([PROGRAMS / "process_life", "sigkill"], place.agent(**KILLED))
    (ring,) = place.rings.rglob("*.ring")
    return ring


def recover(place, ring):
    """How it ended, its seconds, its peak of memory in bytes, and the calls that it has written."""
    variables = place.agent()
    del variables["LD_PRELOAD"]
    before = set(place.path.glob("out/ep*.json"))
    started = time.monotonic()
    result = place.run([TRACEAGENT, "recover", "--keep", "--no-merge", ring], variables)
    seconds = time.monotonic() - started
    peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    written = sorted(set(place.path.glob("out/ep*.json")) - before)
    calls = [event["name"] for path in written for event in calls_in(place.trace(path))]
    for path in written:
        path.unlink()
    ring.with_suffix(".files").unlink(missing_ok=True)
    return result, seconds, peak_bytes, calls


def extend(path, new_bytes):
    """Its sizes fit; all that is new is a hole."""
    with open(path, "r+b") as file:
        file.seek(SIZES_AT)
        _, names_offset, names_bytes, chunks_offset, _ = struct.unpack(SIZES, file.read(struct.calcsize(SIZES)))
        file.truncate(new_bytes)
        file.seek(SIZES_AT)
        count = (new_bytes - chunks_offset) // CHUNK_BYTES
        file.write(struct.pack(SIZES, new_bytes, names_offset, names_bytes, chunks_offset, count))
    return chunks_offset, count


def claim(path, chunks_offset, chunks):
    """Chunks of holes that seem to be somebody's."""
    with open(path, "r+b") as file:
        for number, chunk in enumerate(chunks):
            file.seek(chunks_offset + chunk * CHUNK_BYTES + CLAIM_AT)
            file.write(struct.pack("<Q", 1_000_000 + number))


def test_sparse_copies():
    for folder in ("rings", "path"):  # shared memory, and a disk
        with Place() as place:
            ring = killed(place)
            calls = recover(place, ring)[3]
            copy = getattr(place, folder) / "0-999999999-0.ring"
            subprocess.run(["cp", "--sparse=always", ring, copy], check=True)
            facts = copy.stat()
            check(facts.st_blocks * 512 < facts.st_size, f"{folder}: the copy has no holes: {facts}")
            result, _, _, found = recover(place, copy)
            check(result.code == 0 and result.err == "" and len(calls) > 0 and found == calls,
                  f"a sparse copy in {folder}: {result}: {len(found)} calls, the ring itself {len(calls)}")


def test_gigantic():
    for what, claimed in ("nothing", []), ("its last chunk", [-1]), ("each 64th chunk", "some"):
        with Place() as place:
            ring = killed(place)
            calls = recover(place, ring)[3]
            chunks_offset, count = extend(ring, GIB)
            claim(ring, chunks_offset, range(64, count, 64) if claimed == "some" else
                  [count + chunk for chunk in claimed])
            blocks = ring.stat().st_blocks
            result, seconds, peak_bytes, found = recover(place, ring)
            check(result.code == 0 and found == calls, f"1 GiB, {what} claimed: {result}: {len(found)} calls of {len(calls)}")
            check(seconds < 20 * SLOWDOWN, f"1 GiB, {what} claimed: took {seconds:.1f} s")
            check(peak_bytes < GIB // 4, f"1 GiB, {what} claimed: took {peak_bytes >> 20} MiB")
            grown = (ring.stat().st_blocks - blocks) * 512
            check(grown < 1 << 20, f"1 GiB, {what} claimed: its file has grown by {grown >> 10} KiB")
            print(f"1 GiB, {what} claimed: {seconds:.1f} s, at most {peak_bytes >> 20} MiB, grown by {grown} bytes")


need(LIBRARY, "the library")
need(TRACEAGENT, "the tool")
test_sparse_copies()
test_gigantic()
sys.exit(checks.end())
