#!/usr/bin/env python3
"""Rings that are too small, overwrite, or cannot lie where they should: losses are counted exactly."""
import collections
import json
import os

from jobs import STEADY, Place, bare_run, calls_in, end_of, truth_of
from untouched_job import (COMMAND, check, clean, four_ranks_in_node_file, in_mounts, one_line,
                           ranks_in_shell, run_cases, same_as, whole)

# What the device does would need the same ring.
CALLS_ALONE = {"TRACEAGENT_DOORS_CUPTI": "false"}


def truth_of_steps(records, first, last):
    """The calls from the synchronization that begins step `first` up to the one that ends `last`."""
    calls = sorted((record for record in records if record["kind"] == "call"), key=lambda r: r["number"])
    begins = [i for i, record in enumerate(calls) if record["function"] == "cudaDeviceSynchronize"]
    return calls[begins[first]:begins[last + 1]]


def small_ring(bare):
    with Place() as place:
        command = [STEADY, 12, 12000]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="256KiB", **CALLS_ALONE,
                                SIMGPU_TRUTH=place.path / "t.truth")
        result = place.run(command, variables)
        same_as(bare_run(command), result, "small ring")
        trace = whole(place, "out/ep0-ba7-rank0.json", what="small ring")
        if trace is None:
            return
        wanted = len(truth_of_steps(truth_of(place.path / "t.truth"), 3, 6))
        dropped = trace["traceagent"]["dropped"]
        lost = sum(dropped.values())
        check(lost > 0 and set(dropped) == {"ring_full"}, f"small ring: dropped {dropped}")
        check(len(calls_in(trace)) + lost == wanted,
              f"small ring: {len(calls_in(trace))} events + {lost} dropped, the truth is {wanted}")
        check(f"{lost} lost (ring_full {lost})" in result.lines()[-1], f"small ring: {result.lines()}")
        print(f"small ring: {len(calls_in(trace))} events, {lost} dropped, truth {wanted}")
        clean(place, "small ring")


def small_ring_in_cycles(bare):
    """Each cycle counts its own losses; threads that share too small a ring lose none uncounted."""
    with Place() as place:
        command = [STEADY, 20, 2000, 0, 4]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="1MiB", **CALLS_ALONE,
                                TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=2,repeat=3",
                                SIMGPU_TRUTH=place.path / "t.truth")
        result = place.run(command, variables)
        same_as(bare_run(command), result, "cycles")
        records, all_lost = truth_of(place.path / "t.truth"), 0
        for cycle, first in enumerate((2, 6, 10)):
            trace = whole(place, f"out/ep0-ba{first + 2}-rank0.json", (first, first + 1), "cycles")
            if trace is None:
                return
            lost = sum(trace["traceagent"]["dropped"].values())
            all_lost += lost
            wanted = len(truth_of_steps(records, first, first + 1))
            check(len(calls_in(trace)) + lost == wanted,
                  f"cycle {cycle}: {len(calls_in(trace))} events + {lost} dropped, the truth is {wanted}")
        check(f" {all_lost} lost" in result.lines()[-1], f"cycles: {all_lost} lost: {result.lines()}")
        clean(place, "cycles")


def small_ring_without_node_file(bare):
    """Nobody merges: each rank says what it has lost, local rank zero where its files are, in one line."""
    for more in {"TRACEAGENT_OUTPUT_MERGED": "null"}, {"TRACEAGENT_MERGE_MODE": "off"}:
        with Place() as place:
            small = {"TRACEAGENT_RING_SIZE": "1MiB"} | more
            variables = place.ranks(3, TRACEAGENT_OUTPUT_FOLDER="out", **CALLS_ALONE,
                                    TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=2,repeat=3")
            # The last one has room for all.
            running = [place.start([STEADY, 20, 4000, 0, 4], {**variables[rank], **(small if rank < 2 else more)})
                       for rank in range(3)]
            lines = [end_of(process).lines() for process in running]
            for rank, said in enumerate(lines[:2]):
                traces = [place.trace(f"out/ep0-ba{last}-rank{rank}.json") for last in (4, 8, 12)]
                events = sum(trace["traceagent"]["events"] for trace in traces)
                lost = sum(sum(trace["traceagent"]["dropped"].values()) for trace in traces)
                wanted = (f"traceagent: {place.path}/out: rank {rank}: 3 files written, {events} events, "
                          f"{lost} lost (ring_full {lost})")
                check(lost > 0 and said == [wanted], f"no node file: {said}, not {wanted}")
            check(lines[2] == [], f"no node file: without losses: {lines[2]}")


def overwriting_ring(bare):
    with Place() as place:
        command = [STEADY, 12, 5000]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="1MiB", **CALLS_ALONE,
                                TRACEAGENT_RING_FULL="overwrite", SIMGPU_TRUTH=place.path / "t.truth")
        result = place.run(command, variables)
        same_as(bare_run(command), result, "overwriting ring")
        trace = whole(place, "out/ep0-ba7-rank0.json", what="overwriting ring")
        if trace is None:
            return
        wanted = len(truth_of_steps(truth_of(place.path / "t.truth"), 3, 6))
        lost = sum(trace["traceagent"]["dropped"].values())
        check(lost > 0 and len(calls_in(trace)) + lost == wanted,
              f"overwriting ring: {len(calls_in(trace))} events + {lost} {trace['traceagent']['dropped']}, "
              f"the truth is {wanted}")
        clean(place, "overwriting ring")


def overwriting_ring_in_cycles(bare):
    """Windows that follow each other without a gap: each tells of what was overwritten of it, and of no other's."""
    # Without a node's file the line at the end is of the process' own count, not of the files.
    for threads, more in ((1, {}), (3, {}), (3, {"TRACEAGENT_MERGE_MODE": "off"})):
        with Place() as place:
            command = [STEADY, 12, 4000, 0, threads]
            variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="768KiB", **CALLS_ALONE,
                                    TRACEAGENT_COUNTERS_SOURCES="none", TRACEAGENT_RING_FULL="overwrite",
                                    TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=2,repeat=5",
                                    SIMGPU_TRUTH=place.path / "t.truth", **more)
            result = place.run(command, variables)
            same_as(bare_run(command), result, "overwriting cycles")
            records, causes, all_found = truth_of(place.path / "t.truth"), collections.Counter(), 0
            for cycle, first in enumerate(range(0, 10, 2)):
                trace = whole(place, f"out/ep0-ba{first + 2}-rank0.json", (first, first + 1), "overwriting cycles")
                if trace is None:
                    return
                dropped, found = trace["traceagent"]["dropped"], len(calls_in(trace))
                wanted = len(truth_of_steps(records, first, first + 1))
                check(found + sum(dropped.values()) == wanted,
                      f"overwriting cycle {cycle}, {threads} threads: {found} events + {dropped}, the truth is {wanted}")
                causes.update(dropped)
                all_found += found
            check(causes["overwritten"] > 0 and all_found > 0, f"overwriting cycles: {causes}")
            check(f" {sum(causes.values())} lost" in result.lines()[-1], f"overwriting cycles: {result.lines()}")
            print(f"overwriting cycles, {threads} threads: {all_found} events, {dict(causes)}")
            clean(place, "overwriting cycles")


def foreign_ring_folder(bare):
    with Place() as place:
        target = place.path / "elsewhere"
        target.mkdir()
        (place.rings / f"traceagent-{os.geteuid()}").symlink_to(target)
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out"))
        same_as(bare, result, "a link as ring folder")
        one_line(result, "a link as ring folder", place.rings, "another user", "TRACEAGENT_RING_FOLDER")
        check(list(target.iterdir()) == [], "a link as ring folder: was followed")
        whole(place, "out/node0.json", what="a link as ring folder")


def small_dev_shm(bare):
    with Place() as place:
        command = in_mounts([["-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm"]], ranks_in_shell(COMMAND, 4))
        result = place.run(command, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FOLDER="/dev/shm"))
        check(result.code == bare.code and sorted(result.out.splitlines()) == sorted(bare.out.splitlines() * 4),
              f"/dev/shm of 64 MB: {result}")
        one_line(result, "/dev/shm of 64 MB", "/dev/shm", "KiB", "--shm-size")
        trace = json.loads((place.path / "out/node0.json").read_text()) if place.files() else {}
        ranks = {event["pid"] for event in calls_in(trace)} if trace else set()
        check(ranks == {0, 1, 2, 3} and trace.get("complete") is True, f"/dev/shm of 64 MB: ranks {ranks}")


def crowded_dev_shm(bare):
    """What the job still finds free there stays the job's."""
    with Place() as place:
        ranks = ranks_in_shell(COMMAND, 4)
        job = ["sh", "-c", f"head -c 52M /dev/zero > /dev/shm/theirs; {ranks[-1]}"]
        result = place.run(in_mounts([["-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm"]], job),
                           place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FOLDER="/dev/shm"))
        check(result.code == bare.code and sorted(result.out.splitlines()) == sorted(bare.out.splitlines() * 4),
              f"a crowded /dev/shm: {result}")
        one_line(result, "a crowded /dev/shm", "/dev/shm", "left to others", "does not survive a kill", "recover --list")
        trace = four_ranks_in_node_file(place, "out/node0.json", "a crowded /dev/shm")
        check(trace is not None and trace["complete"] is True, "a crowded /dev/shm: not complete")


def no_dev_shm(bare):
    cases = {"missing": ("/no/such/folder", "No such file"), "a file": ("FILE", "Not a directory")}
    for what, (folder, word) in cases.items():
        with Place() as place:
            (place.path / "FILE").write_text("")
            folder = folder if folder.startswith("/") else place.path / folder
            result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FOLDER=folder))
            same_as(bare, result, f"ring folder {what}")
            one_line(result, f"ring folder {what}", folder, word, "TRACEAGENT_RING_FOLDER")
            whole(place, "out/ep0-ba7-rank0.json", what=f"ring folder {what}")
            whole(place, "out/node0.json", what=f"ring folder {what}")


def unwritable_dev_shm(bare):
    with Place() as place:
        command = in_mounts([["-t", "tmpfs", "-o", "ro", "tmpfs", "/dev/shm"]], ranks_in_shell(COMMAND, 4))
        result = place.run(command, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FOLDER="/dev/shm"))
        check(result.code == bare.code and sorted(result.out.splitlines()) == sorted(bare.out.splitlines() * 4),
              f"read-only /dev/shm: {result}")
        one_line(result, "read-only /dev/shm", "/dev/shm", "ead-only", "TRACEAGENT_RING_FOLDER")
        four_ranks_in_node_file(place, "out/node0.json", "read-only /dev/shm")


run_cases([small_ring, small_ring_in_cycles, small_ring_without_node_file, overwriting_ring, overwriting_ring_in_cycles, foreign_ring_folder,
           no_dev_shm],
           [small_dev_shm, crowded_dev_shm, unwritable_dev_shm])
