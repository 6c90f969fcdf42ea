#!/usr/bin/env python3
"""traceagent recover: what killed processes had recorded, and rings that are damaged."""
import fcntl
import os
import random
import shutil
import signal
import struct
import sys
import time

from jobs import (STEADY, TIMEOUT, TRACEAGENT, Checks, Place, calls_in, end_of, steps_in, truth_of, wait_until_said)
from places import LIBRARY, need

checks = Checks()
check = checks.check
RECORDING = {"TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=1000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out"}


def start_recover(place, *words, **more):
    variables = place.agent(**more)
    del variables["LD_PRELOAD"]
    return place.start([TRACEAGENT, "recover", *words], variables)


def recover(place, *words, **more):
    return end_of(start_recover(place, *words, **more))


def synchronizations(truth):
    return sum(record.get("function") == "cudaDeviceSynchronize" for record in truth_of(truth)) \
        if truth.exists() else 0


def killed(place, ranks=1, world_size=None, **more):
    """Ranks of one node that are killed in the middle of their window; their truths."""
    truths = [place.path / f"{rank}.truth" for rank in range(ranks)]
    size = {"WORLD_SIZE": str(world_size or ranks)}
    running = [place.start([STEADY, 1000, 10, 10_000], variables | size) for variables in
               place.ranks(ranks, **{**RECORDING, "SIMGPU_TRUTH": place.path / "{rank}.truth", **more})]
    deadline = time.monotonic() + TIMEOUT
    while any(synchronizations(truth) < 10 for truth in truths) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in running:
        process.send_signal(signal.SIGKILL)
    check([end_of(process).code for process in running] == [-9] * ranks, "all are killed")
    return truths


def window_of(truth):
    calls = sorted((r for r in truth_of(truth) if r["kind"] == "call"), key=lambda r: r["number"])
    begins = [i for i, record in enumerate(calls) if record["function"] == "cudaDeviceSynchronize"]
    return [record["function"] for record in calls[begins[3]:]]


def metadata_events(place):
    return sum(event["ph"] == "M" for event in place.trace("out/node0.json")["traceEvents"])


def test_two_ranks():
    with Place() as place:
        truths = killed(place, 2)
        check(place.files() == ["0.truth", "1.truth"], f"before: {place.files()}")
        kept = recover(place, "--keep")
        check(kept.code == 0 and kept.err == "", f"recover --keep: {kept}")
        check("rank 0" in kept.out and "rank 1" in kept.out and "out/node0.json: 2 ranks" in kept.out, kept.out)
        names = [name for name in place.files() if name.startswith("out/ep")]
        check(len(names) == 2, f"two rank files: {names}")
        for rank, truth in enumerate(truths):
            name = next((name for name in names if f"rank{rank}" in name), None)
            if not check(name, f"rank {rank}: no file"):
                continue
            trace, wanted = place.trace(name), window_of(truth)
            found = [event["name"] for event in calls_in(trace)]
            check(wanted in (found, found + wanted[-1:]) or found[:-1] == wanted,
                  f"rank {rank}: {len(found)} calls, truth {len(wanted)}")
            check(trace["traceagent"].get("recovered") is True and "complete" not in trace, "says it was recovered")
            check(steps_in(trace)[0] == 3, f"steps {steps_in(trace)[:3]}")
            print(f"rank {rank}: {len(found)} calls recovered, truth {len(wanted)}")
        shutil.rmtree(place.path / "out")
        anew = recover(place, "--keep")
        check(anew.code == 0 and "out/node0.json: 2 ranks" in anew.out, f"kept, and the files were removed: {anew}")
        check([name for name in place.files() if name.startswith("out/ep")] == names, "the same files")
        again = recover(place)
        check(again.code == 0 and again.out.count("nothing to recover") == 2, f"again: {again}")
        check([name for name in place.files() if name.startswith("out/ep")] == names, "no file twice")
        check(len(calls_in(place.trace("out/node0.json"))) == sum(len(calls_in(place.trace(name))) for name in names),
              "the node file has not all")
        check(place.left_in_memory() == [], f"left: {place.left_in_memory()}")
        entries = place.trace("out/index/index.json")["entries"]
        merged = [entry for entry in entries if "merged" in entry]
        check(merged and merged[-1]["merged"] == "node0.json"
              and merged[-1]["events"] == len(place.trace("out/node0.json")["traceEvents"]) - metadata_events(place),
              f"the index tells of the node's file: {merged}")
        none = recover(place)
        check(none.code == 0 and "no ring of a dead process" in none.out, f"none: {none}")


def test_what_else_the_job_wanted():
    """Other profilers' traces are not in what recovery makes, and it says so; of uploads only where some wait."""
    with Place() as place:
        killed(place, TRACEAGENT_OUTPUT_KEEP=2, TRACEAGENT_MERGE_INCLUDE="*.pt.trace.json")
        result = recover(place)
        check(result.code == 0 and "missing: other profilers' traces (merge.include: *.pt.trace.json)" in result.out
              and "upload" not in result.out and "--include-once" not in result.out, f"no uploads: {result}")
    with Place() as place:
        killed(place, TRACEAGENT_MERGE_INCLUDE="*.pt.trace.json", world_size=2)
        result = recover(place)
        check(result.code == 0 and f"--include PATTERN --include-once {place.path}/out/index\n" in result.out,
              f"one of two nodes: {result}")
    with Place() as place:
        killed(place, TRACEAGENT_OUTPUT_REMOTE=f"{place.path}/there/")
        result = recover(place)
        check(result.code == 0 and f"traceagent upload --resume {place.path}/out" in result.out
              and "merge.include" not in result.out, f"uploads: {result}")


ONE_WINDOW = {**RECORDING, "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=4,repeat=1"}


def wait_for_files(place, count, *of_each):
    """Of ranks, under their last names; so many together, or of each of these ranks."""
    deadline = time.monotonic() + TIMEOUT
    while any(sum(f"rank{rank}" in name and name.endswith(".json") for name in place.files()) < count
              for rank in of_each or [""]) and time.monotonic() < deadline:
        time.sleep(0.05)


def zero_killed_last(place, zero, what):
    wait_for_files(place, 2)
    zero.kill()
    end_of(zero)
    result = recover(place)
    check(result.code == 0 and "out/node0.json: 2 ranks" in result.out, f"{what}: {result}")
    check(place.left_in_memory() == [], f"{what}: {place.left_in_memory()}")
    merged = place.run([TRACEAGENT, "merge", "out", "-o", "all.json"], place.agent())
    check(merged.code == 0 and "2 ranks" in merged.out, f"{what}: {merged}")


def test_no_merge():
    """By an option of the job's, or of the tool's: the ranks' files alone, and how to join them."""
    for words, more in (["--no-merge"], {}), ([], {"TRACEAGENT_MERGE_MODE": "off"}), \
            ([], {"TRACEAGENT_OUTPUT_MERGED": "null"}):
        with Place() as place:
            killed(place, **more)
            result = recover(place, *words)
            check(result.code == 0 and f"traceagent merge {place.path}/out" in result.out, f"{words}, {more}: {result}")
            check(not (place.path / "out/node0.json").exists(), f"{words}, {more}: {place.files()}")


def test_same_key_again():
    """A run that has no id of its own is killed; the next of the same key is not mixed with it."""
    with Place() as place:
        variables = [own | {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=2,repeat=0"} for own in place.ranks(2)]
        variables = [own | {"TRACEAGENT_OUTPUT_FOLDER": "out"} for own in variables]
        first = [place.start([STEADY, 1000, 10, 10_000], own) for own in variables]
        wait_for_files(place, 2, 0, 1)
        for process in first:
            process.kill()
            end_of(process)
        files = set(place.files())
        second = [end_of(process) for process in
                  [place.start([STEADY, 20, 10, 10_000], own) for own in variables]]
        check([each.code for each in second] == [3, 3], f"the second run: {second}")
        lines = [line for each in second for line in each.lines()]
        check(sum("an earlier run of this name was killed" in line for line in lines) == 1, f"{lines}")
        trace = place.trace("out/node0.json")
        check(sorted({event["pid"] for event in calls_in(trace)}) == [0, 1], "second claimants")
        pids = {process.pid for process in first}
        merged = {about["identity"]["pid"] for about in trace["traceagent"]["merged"]}
        check(not merged & pids and trace["complete"] is True, f"the first run's files are in it: {merged}, {pids}")
        result = recover(place)
        check(result.code == 0 and "2 ranks" in result.out and place.left_in_memory() == [], f"the first: {result}")
        older = [name for name in set(place.files()) - files if name.startswith("out/node0-pid")]
        if check(len(older) == 1, f"{place.files()}"):
            merged = {about["identity"]["pid"] for about in place.trace(older[0])["traceagent"]["merged"]}
            check(merged == pids, f"the first run's node file: {merged}, {pids}")


def test_pid_again():
    """In a container that begins again each run has the pids of the one before: their node files have names in turn."""
    with Place() as place:
        killed(place)
        pid = next(place.rings.rglob("*.ring")).name.split("-")[1]
        taken = [f"out/node0{ending}.json" for ending in ("", f"-pid{pid}", f"-pid{pid}-2")]
        for name in taken:
            (place.path / name).parent.mkdir(exist_ok=True)
            (place.path / name).write_text(name)
        result = recover(place)
        check(result.code == 0 and f"out/node0-pid{pid}-3.json: 1 rank" in result.out, f"{taken} are taken: {result}")
        check(all((place.path / name).read_text() == name for name in taken), "replaced what was recovered of another run")
        check(place.left_in_memory() == [], f"left: {place.left_in_memory()}")


def test_two_at_once():
    """The keeper and the user, or two epilogues: the second waits for the first, and says so."""
    with Place() as place:
        killed(place, 2)
        run = next(place.rings.rglob("*.ring")).parent
        before = place.files()
        with open(run / "recovering", "w") as note:
            fcntl.lockf(note, fcntl.LOCK_EX)
            waiting = start_recover(place, run)
            said = wait_until_said(waiting, f"{run}: process {os.getpid()} recovers it: waiting")
            check(said and place.files() == before, f"two at once: {said}, {place.files()}")
        result = end_of(waiting)
        check(result.code == 0 and "2 ranks" in result.out, f"two at once: after the first was killed: {result}")
        check(place.left_in_memory() == [], f"two at once: {place.left_in_memory()}")
    for attempt in range(5):
        with Place() as place:
            killed(place, 2)
            run = next(place.rings.rglob("*.ring")).parent
            both = [start_recover(place, run) for _ in range(2)]
            ended = [end_of(process) for process in both]
            ranks = [name for name in place.files() if "-rank" in name]
            check(len(ranks) == 2, f"two at once, {attempt}: {ranks}: {ended}")
            check(sum("2 ranks" in each.out for each in ended) == 1, f"two at once, {attempt}: {ended}")
            check(place.left_in_memory() == [], f"two at once, {attempt}: {place.left_in_memory()}")


def test_ring_not_made():
    """Its process was killed before the ring was a ring."""
    with Place() as place:
        killed(place)
        run = next(place.rings.rglob("*.ring")).parent
        for number, size in enumerate((0, 4096, 1 << 20)):
            with open(run / f"{number + 1}-999999999-0.ring", "wb") as file:
                file.truncate(size)
        result = recover(place)
        check(result.code == 0 and result.out.count("ended before it was made") == 3, f"rings not made: {result}")
        check("missing" not in result.out and place.left_in_memory() == [], f"rings not made: {result}")


def test_nobody_left_to_merge():
    """Local rank zero is killed last, when its peers have left the merge to it."""
    with Place() as place:
        variables = place.ranks(2, **ONE_WINDOW)
        zero = place.start([STEADY, 1000, 10, 10_000], variables[0])
        one = end_of(place.start([STEADY, 10, 10], variables[1]))
        check(one.code == 3, f"rank 1: {one}")
        zero_killed_last(place, zero, "nobody left")


def test_zero_begins_late():
    """Local rank zero begins when its peer has ended: the peer leaves the merge, and its ring, to it."""
    with Place() as place:
        variables = place.ranks(2, **ONE_WINDOW)
        first = place.start([STEADY, 10, 10], variables[1])
        wait_for_files(place, 1)
        zero = place.start([STEADY, 1000, 10, 10_000], variables[0])
        one = end_of(first)
        check(one.code == 3, f"rank 1: {one}")
        check(zero.poll() is None, "zero ended too early for this test")
        zero_killed_last(place, zero, "zero begins late")


def test_living():
    with Place() as place:
        process = place.start([STEADY, 1000, 10, 10_000], place.agent(**RECORDING))
        deadline = time.monotonic() + TIMEOUT
        while not any(name.endswith(".ring") for name in place.left_in_memory()) and time.monotonic() < deadline:
            time.sleep(0.05)
        ring = next(place.rings.rglob("*.ring"), None)
        while "not made it yet" in recover(place, str(ring)).err and time.monotonic() < deadline:
            time.sleep(0.05)
        check(wait_until_said(process, "step 10"), "it records")
        result = recover(place)
        check(result.code == 0 and "still goes on" in result.out, f"a living run: {result}")
        named = recover(place, str(ring))
        check(named.code == 1 and len(named.lines()) == 1 and "still runs" in named.err, f"a living ring: {named}")
        check(ring and ring.exists(), "a living ring is left alone")
        # Of a library that was updated since: its lock and its name tell.
        with ring.open("r+b") as file:
            file.seek(8)
            version = struct.unpack("<I", file.read(4))[0]
            for other in (version + 1, version):
                file.seek(8)
                file.write(struct.pack("<I", other))
                file.flush()
                result = recover(place)
                check(result.code == 0 and "still goes on" in result.out, f"a living run, layout {other}: {result}")
        process.send_signal(signal.SIGTERM)
        check(end_of(process).code == -15, "SIGTERM")
        result = recover(place, place.rings)
        check(result.code == 0 and "recovered" in result.out, f"after SIGTERM: {result}")
        check(place.left_in_memory() == [], f"left: {place.left_in_memory()}")


def test_merge_of_living():
    """What is merged by hand while its job runs on, or before its dead are recovered, is not complete."""
    with Place() as place:
        more = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=2,repeat=0", "TRACEAGENT_OUTPUT_FOLDER": "out"}
        process = place.start([STEADY, 1000, 10, 10_000], place.agent(**more))
        wait_for_files(place, 2)
        for word in ("still runs", "was killed: traceagent recover"):
            result = place.run([TRACEAGENT, "merge", "out", "-o", "all.json", "--force"],
                               {key: text for key, text in place.agent().items() if key != "LD_PRELOAD"})
            check(result.code == 0 and f"missing: rank 0 {word}" in result.out, f"{word}: {result}")
            check("complete" not in place.trace("all.json"), f"{word}: it says that it is complete")
            result = place.run([TRACEAGENT, "merge", "out", "-o", "none.json", "--time", "+1h", "+2h"],
                               {key: text for key, text in place.agent().items() if key != "LD_PRELOAD"})
            check(result.code == 1 and f"missing: rank 0 {word}" in result.out, f"{word}, of no event: {result}")
            process.kill()
            end_of(process)
        recover(place)
        check(place.left_in_memory() == [], f"left: {place.left_in_memory()}")


# Workers that live on when their rank has ended.
def test_several_runs():
    """Nobody guesses which run is meant: they are listed, one is named, or all are."""
    with Place() as place:
        for _ in range(3):
            for truth in killed(place):
                truth.unlink()
        runs = sorted(str(run) for run in (place.rings / f"traceagent-{os.geteuid()}").iterdir())
        unclear = recover(place)
        check(unclear.code == 2 and len(unclear.lines()) == 1 and "--all" in unclear.err, f"unclear: {unclear}")
        check(all(f"{run}: 1 ring" in unclear.out for run in runs), f"runs: {unclear}")
        check(len(list(place.rings.rglob("*.ring"))) == 3, "nothing is touched")
        named = recover(place, runs[0])
        check(named.code == 0 and len(list(place.rings.rglob("*.ring"))) == 2, f"one that is named: {named}")
        check(recover(place, "--all").code == 0 and place.left_in_memory() == [], f"left: {place.left_in_memory()}")
        check(sum(name.startswith("out/ep") for name in place.files()) == 3, f"files: {place.files()}")
        check(sum(name.startswith("out/node0") for name in place.files()) == 3, f"a node file each: {place.files()}")


def test_after_a_later_run():
    """Of the same key, with output.overwrite: what it has saved stays, and what the dead one left is beside it."""
    with Place() as place:
        more = {"TRACEAGENT_OUTPUT_OVERWRITE": "true", "TRACEAGENT_OUTPUT_FILENAME": "rank{rank}.json"}
        (first,), (second,) = place.ranks(1, **{**RECORDING, **more}), place.ranks(1, TRACEAGENT_OUTPUT_FOLDER="out", **more)
        second["TORCHELASTIC_RUN_ID"] = first["TORCHELASTIC_RUN_ID"]
        dead = place.start([STEADY, 1000, 10, 10_000], first)
        check(wait_until_said(dead, "step 10"), "later run: the first has recorded")
        dead.kill()
        end_of(dead)
        check(place.run([STEADY, 20, 10, 0], second).code == 3, "later run: it ends")
        later = {name: (place.path / name).read_bytes() for name in place.files() if name.endswith(".json")}
        check({"out/rank0.json", "out/node0.json"} <= set(later), f"later run: {place.files()}")
        done = recover(place)
        check(done.code == 0 and done.err == "", f"later run: {done}")
        for name in ("out/rank0.json", "out/node0.json"):
            check((place.path / name).read_bytes() == later.get(name), f"later run: {name} was replaced: {done}")
        rest = [name for name in place.files() if "-pid" in name and "index" not in name]
        check(len(rest) == 2 and all(len(calls_in(place.trace(name))) >= 7 * 11 for name in rest), f"later run: {rest}")


def test_into_another_folder():
    """Where the job's own cannot be, nobody may be left with what cannot be written anywhere."""
    with Place() as place:
        ended = place.run([STEADY, 8, 10], place.agent(TRACEAGENT_OUTPUT_FOLDER="/proc/typo"))
        run = next((place.rings / f"traceagent-{os.geteuid()}").iterdir())
        check(f"traceagent recover {run}" in ended.err, f"{ended}")
        listed = [line.strip() for line in recover(place, "--list").out.splitlines()]
        check(f"traceagent recover {run}" in listed and any(line.startswith(f"traceagent recover {run} --output FOLDER  (")
                                                            for line in listed), f"--list: {listed}")
        result = recover(place, TRACEAGENT_OUTPUT_FOLDER="elsewhere")
        check(result.code == 1 and f"traceagent recover {run} --output FOLDER" in result.out, f"/proc/typo: {result}")
        result = recover(place, run, "--output", "new/there")
        check(result.code == 0 and "new/there/node0.json: 1 rank" in result.out, f"--output: {result}")
        trace = place.trace("new/there/node0.json")
        check(len(calls_in(trace)) > 0 and trace["traceagent"]["dropped"] == {}, f"--output: {len(calls_in(trace))}")
        check(not run.exists(), "--output: the rings are gone")
        check(recover(place, "--list", "--output", "x").code == 2, "--output and --list")


def test_usage():
    with Place() as place:
        helped = recover(place, "--help")
        check(helped.code == 0 and "examples:" in helped.out and "--keep" in helped.out, f"help: {helped}")
        for words, code in ((["--bogus"], 2), (["/no/such/ring"], 1)):
            result = recover(place, *words)
            check(result.code == code and len(result.lines()) == 1, f"{words}: {result}")


def refused(place, path, what, *words):
    started = time.monotonic()
    result = recover(place, str(path))
    check(result.code in (0, 1) and len(result.lines()) <= 3, f"{what}: {result}")
    check(all(word in result.err for word in words), f"{what}: wants {words}: {result.err}")
    check(time.monotonic() - started < TIMEOUT / 2, f"{what}: took {time.monotonic() - started:.0f} s")
    return result


def damaged_copies(ring):
    """Name, bytes, words of the refusal."""
    data = ring.read_bytes()
    version = struct.unpack_from("<I", data, 8)[0]
    yield "another file", b"#!/bin/sh\n" * 10000, ["not a ring"]
    yield "cut", data[:len(data) // 2], ["damaged"]
    yield "cut in its header", data[:5000], ["not a ring"]
    yield "another version", data[:8] + struct.pack("<I", version + 6) + data[12:], \
        [f"layout {version + 6}", f"layout {version}"]
    chance = random.Random(1)
    yield "random behind its header's sizes", data[:64] + chance.randbytes(len(data) - 64), []
    yield "random records", data[:len(data) // 4] + chance.randbytes(len(data) - len(data) // 4), []
    for seed in range(12):
        chance = random.Random(seed)
        copy = bytearray(data)
        for _ in range(2000):
            copy[chance.randrange(64, len(copy) if seed % 2 else 160_000)] = chance.randrange(256)
        yield f"2,000 random bytes, seed {seed}", bytes(copy), []


def test_another_user():
    """Its ring says where files go: root would write them wherever its maker wants."""
    if os.geteuid() != 0:
        return
    with Place() as place:
        killed(place)
        ring = next(place.rings.rglob("*.ring"))
        os.chown(ring, 12345, 12345)
        check(refused(place, ring, "of another user", "belongs to another user").code == 1, "of another user: exit code")
        check(not any(name.startswith("out/") for name in place.files()), f"another's: {place.files()}")
        os.chown(ring, 0, 0)
        check(recover(place).code == 0, "taken back")


def test_damaged():
    with Place() as place:
        killed(place, 1, TRACEAGENT_RING_SIZE="2MiB")
        ring = next(place.rings.rglob("*.ring"))
        good = recover(place, "--keep")
        check(good.code == 0 and "recovered" in good.out, f"the ring itself: {good}")
        folder = place.path / "damaged"
        folder.mkdir()
        for number, (what, data, words) in enumerate(damaged_copies(ring)):
            path = folder / f"{number}.ring"
            path.write_bytes(data)
            result = refused(place, path, what, *words)
            # Whatever it makes of the records: files appear where the ring itself said, or nowhere.
            strays = [name for name in place.files() if not name.startswith(("out/", "damaged/", "0.truth"))]
            check(strays == [], f"{what}: {strays}")
            if words:
                check(result.code == 1 and len(result.lines()) == 1 and path.exists(), f"{what}: {result}")
        os.mkfifo(folder / "pipe.ring")
        refused(place, folder / "pipe.ring", "a pipe", "not a ring")


def ranks_in(place, name):
    return {event["pid"] for event in calls_in(place.trace(name))}


def calls_of_ranks(place, name):
    return sorted((event["pid"], event["ts"], event["name"]) for event in calls_in(place.trace(name)))


def test_one_rank_later():
    """One rank's folder cannot be written: it is recovered once it can, or elsewhere, and joins the rank that was."""
    for words, name in ([], "out/node0.json"), (["--output", "B"], "B/node0.json"):
        with Place() as place:
            killed(place, 2, TRACEAGENT_OUTPUT_FILENAME="r{rank}/ba{batch}.json")
            in_the_way = place.path / "out/r1"
            in_the_way.parent.mkdir()
            in_the_way.write_text("no folder")
            first = recover(place)
            check(first.code == 1 and "missing: rank 1: its ring was not recovered: see above" in first.out,
                  f"one rank later, {words}: {first}")
            check(ranks_in(place, "out/node0.json") == {0}, f"one rank later, {words}: {place.files()}")
            if not words:
                in_the_way.unlink()
            second = recover(place, *words)
            check(second.code == 0 and "2 ranks" in second.out and "missing" not in second.out,
                  f"one rank later, {words}: {second}")
            check(ranks_in(place, name) == {0, 1}, f"one rank later, {words}: {place.files()}")
            check(place.left_in_memory() == [], f"one rank later, {words}: {place.left_in_memory()}")


def test_rank_files_removed():
    """The node's file is all that is left of a rank: it is not replaced by one of fewer."""
    with Place() as place:
        killed(place, 2)
        one = next(place.rings.rglob("1-*.ring"))
        check(recover(place, "--keep").code == 0 and ranks_in(place, "out/node0.json") == {0, 1}, "both ranks")
        next(place.rings.rglob("0-*.ring")).unlink()
        for path in (place.path / "out").glob("*rank0*"):
            path.unlink()
        before = calls_of_ranks(place, "out/node0.json")
        again = recover(place, one.parent)
        after = calls_of_ranks(place, "out/node0.json")
        counts = f"{len(before)} calls, then {len(after)}"
        check(again.code == 0 and after == before, f"rank files removed: {counts}: {again}")


def test_recovered_twice():
    """Into a folder, then as the job would have: each call is in the node's file once."""
    with Place() as place:
        killed(place, 2)
        other = recover(place, "--keep", "--output", "A")
        own = recover(place)
        check(other.code == 0 and own.code == 0, f"recovered twice: {other}, {own}")
        counts = [len(calls_in(place.trace(f"{folder}/node0.json"))) for folder in ("A", "out")]
        check(counts[0] == counts[1] > 0, f"recovered twice: {counts} calls")


def test_nothing_of_a_rank():
    """Of a rank that never came nothing is said but that."""
    with Place() as place:
        running = place.start([STEADY, 1000, 10, 10_000], place.ranks(2, **RECORDING)[0])
        check(wait_until_said(running, "step 10"), "one of two ranks records")
        running.kill()
        end_of(running)
        result = recover(place)
        check(result.code == 0 and "missing: rank 1: nothing of it was found" in result.out, f"one of two: {result}")


def test_set_aside_meanwhile():
    """The next run of the key takes the folder's name while the dead one is recovered."""
    with Place() as place:
        killed(place, 2)
        run = next(place.rings.rglob("*.ring")).parent
        with open(run / "recovering", "w") as note:
            fcntl.lockf(note, fcntl.LOCK_EX)
            working = start_recover(place, run)
            check(wait_until_said(working, "recovers it: waiting"), "set aside: it waits")
            run.rename(run.with_name(f"{run.name}.dead-1"))
            run.mkdir()
        result = end_of(working)
        check(result.code == 0 and "out/node0.json: 2 ranks" in result.out, f"set aside: {result}")
        left = place.left_in_memory()
        check(not any(name.endswith(".ring") for name in left) and not list(run.iterdir()), f"set aside: {left}")


def test_copy_of_a_living_run():
    """Into the job's own folder its events would come twice."""
    with Place() as place:
        ranks = [place.start([STEADY, 1000, 10, 10_000], variables) for variables in place.ranks(2, **RECORDING)]
        check(all([wait_until_said(rank, "step 10") for rank in ranks]), "a copy: they record")
        shutil.copytree(next(place.rings.rglob("*.ring")).parent, place.path / "copy")
        result = recover(place, "copy")
        check(result.code == 1 and result.err.count("still runs, this is a copy") == 2, f"a copy: {result}")
        check(not (place.path / "out").exists(), f"a copy: {place.files()}")
        elsewhere = recover(place, "copy", "--keep", "--output", "seen")
        check(elsewhere.code == 0 and "seen/node0.json: 2 ranks" in elsewhere.out, f"a copy, elsewhere: {elsewhere}")
        for rank in ranks:
            rank.kill()
            end_of(rank)
        check(recover(place, "copy").code == 0, "a copy whose processes are dead")


def main():
    need(LIBRARY, "the library")
    need(TRACEAGENT, "the tool")
    for test in (test_two_ranks, test_what_else_the_job_wanted, test_nobody_left_to_merge, test_zero_begins_late, test_no_merge, test_same_key_again, test_pid_again, test_two_at_once, test_ring_not_made,
                 test_living, test_merge_of_living, test_several_runs, test_after_a_later_run, test_into_another_folder,
                 test_usage, test_another_user, test_damaged, test_one_rank_later, test_rank_files_removed,
                 test_recovered_twice, test_nothing_of_a_rank, test_set_aside_meanwhile, test_copy_of_a_living_run):
        started = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - started:.1f} s", flush=True)
    return checks.end()


sys.exit(main())
