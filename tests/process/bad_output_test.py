#!/usr/bin/env python3
"""The agent cannot write where or as it should: folders, disks, limits, closed outputs."""
import gzip
import json
import os
import re
import shlex
import subprocess
import time

from jobs import (STEADY, TRACEAGENT, Place, bare_run, calls_in, end_of, steps_in,
                  variables_of)
from places import SANITIZED
from untouched_job import (COMMAND, check, clean, four_ranks_in_node_file, in_mounts, is_result,
                           one_line, run_cases, same_as, whole)

KEPT = "what could not be written stays in memory: traceagent recover "


def kept(result, what, *words):
    """What is wrong, and where the events are: the words of the command that writes them."""
    told = [line for line in result.lines() if KEPT in line]
    others = [line for line in result.lines() if KEPT not in line]
    good = len(told) == len(others) == 1 and all(str(word).lower() in others[0].lower() for word in words)
    check(good, f"{what}: wants a line with {words} and where the events are: {result.lines()}")
    return [TRACEAGENT, "recover", told[0].rsplit(" ", 1)[1]] if told else ["true"]


def recovered(place, command, what, file):
    """The cause is gone: all steps are there, and nothing is left."""
    done = place.run(command, variables_of())
    check(done.code == 0 and done.err == "", f"{what}: recover: {done}")
    if check((place.path / file).exists(), f"{what}: no {file}: {place.files()}"):
        trace = place.trace(file)
        check(steps_in(trace) == [3, 4, 5, 6] and len(calls_in(trace)) == 4 * 11, f"{what}: {file} lacks calls")
    clean(place, what)


def unwritable_folder(bare):
    with Place() as place:
        (place.path / "file").write_text("x")
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="file/traces"))
        same_as(bare, result, "folder below a file")
        command = kept(result, "folder below a file", place.path / "file", "TRACEAGENT_OUTPUT_FOLDER")
        check(place.files() == ["file"], f"folder below a file: {place.files()}")
        (place.path / "file").unlink()
        recovered(place, command, "folder below a file", "file/traces/node0.json")


def read_only_folder(bare):
    with Place() as place:
        folder = place.path / "traces"
        folder.mkdir()
        mounts = [["--bind", folder, folder], ["-o", "remount,bind,ro", folder]]
        result = place.run(in_mounts(mounts, COMMAND), place.agent(TRACEAGENT_OUTPUT_FOLDER=folder))
        same_as(bare, result, "read-only folder")
        command = kept(result, "read-only folder", folder, "ead-only")
        check(place.files() == [], f"read-only folder: {place.files()}")
        recovered(place, command, "read-only folder", "traces/node0.json")


def merged_name_of_a_rank(bare):
    """The node's file would take the place of rank 0's."""
    for merged in ("ep0-ba7-rank0.json", "{node_rank}.json"):
        with Place() as place:
            more = {"TRACEAGENT_OUTPUT_FILENAME": "{rank}.json"} if "{" in merged else {}
            result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_MERGED=merged, **more))
            same_as(bare, result, "a rank's name")
            one_line(result, "a rank's name", "output.merged", merged, "choose another")
            names = [name for name in place.files() if name.endswith(".json") and "/index/" not in name]
            check(len(names) == 1 and "traceEvents" in place.trace(names[0]) and
                  "ranks" not in place.trace(names[0])["distributedInfo"], f"a rank's name: {place.files()}")
            clean(place, "a rank's name")


def names_with_folders(bare):
    """Made for the node's file as for the ranks'."""
    with Place() as place:
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_MERGED="of/nodes/{node_rank}.json",
                                                TRACEAGENT_OUTPUT_FILENAME="of/ranks/{rank}.json"))
        same_as(bare, result, "names with folders")
        check(len(result.lines()) == 1 and is_result(result.lines()[0]), f"names with folders: {result.lines()}")
        whole(place, "out/of/nodes/0.json", what="names with folders")
        merged = [entry["merged"] for entry in place.trace("out/index/index.json")["entries"] if "merged" in entry]
        check(merged == ["of/nodes/0.json"], f"names with folders: index: {merged}")
        clean(place, "names with folders")


def names_too_long(bare):
    """For a file system. What was recorded is there, under names that are shortened, and each option is told of."""
    with Place() as place:
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_FILENAME="x" * 250 + "{rank}.json",
                                                TRACEAGENT_OUTPUT_MERGED="y" * 300 + "{node_rank}.json"))
        same_as(bare, result, "names too long")
        told = [line for line in result.lines() if not is_result(line)]
        check(len(told) == 2 and all(f"output.{option}: the name is too long" in line
                                     for option, line in zip(("filename", "merged"), told)),
              f"names too long: {result.lines()}")
        nodes = [name for name in place.files() if name.startswith("out/yyy")]
        ranks = [name for name in place.files() if name.startswith("out/xxx") and name.endswith("x0.json")]
        if check(len(nodes) == len(ranks) == 1 and nodes[0].endswith("y0.json"), f"names too long: {place.files()}"):
            whole(place, nodes[0], what="names too long")
        clean(place, "names too long")


def names_that_end_in_gz(bare):
    """Without output.gzip, too: a name is believed."""
    with Place() as place:
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_MERGED="node.json.gz",
                                                TRACEAGENT_OUTPUT_FILENAME="rank{rank}.json.gz"))
        same_as(bare, result, "names in .gz")
        for name in ("out/node.json.gz", "out/rank0.json.gz"):
            data = (place.path / name).read_bytes() if name in place.files() else b""
            check(data[:2] == b"\x1f\x8b" and len(json.loads(gzip.decompress(data))["traceEvents"]) > 44,
                  f"names in .gz: {place.files()}: {data[:20]}")


def four_ranks_unwritable(bare):
    with Place() as place:
        (place.path / "file").write_text("x")
        running = [place.start(COMMAND, variables)
                   for variables in place.ranks(4, TRACEAGENT_OUTPUT_FOLDER="file/traces")]
        results = [end_of(process) for process in running]
        lines = [line for result in results for line in result.lines()]
        for result in results:
            same_as(bare, result, "four ranks, unwritable folder")
        told = [line for line in lines if KEPT in line]
        check(len(told) == 1 and 1 <= len(lines) - 1 <= 2, f"four ranks, unwritable folder: {lines}")
        (place.path / "file").unlink()
        recover = [TRACEAGENT, "recover", told[0].rsplit(" ", 1)[1]] if told else ["true"]
        done = place.run(recover, variables_of())
        check(done.code == 0, f"four ranks, unwritable folder: {done}")
        four_ranks_in_node_file(place, "file/traces/node0.json", "four ranks, unwritable folder")
        clean(place, "four ranks, unwritable folder")


def folder_with_files(bare):
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out")
        first = place.run(COMMAND, variables)
        same_as(bare, first, "first run")
        old = {name: (place.path / name).read_bytes() for name in place.files()}
        check(len(old) == 3, f"first run: {sorted(old)}")
        time.sleep(0.02)  # the run key has the start time in clock ticks
        again = place.run(COMMAND, variables)
        same_as(bare, again, "folder with files")
        one_line(again, "folder with files", place.path / "out", "TRACEAGENT_OUTPUT_OVERWRITE=true")
        new = {name: (place.path / name).read_bytes() for name in place.files()}
        check(new == old, f"folder with files: changed: {sorted(new)}")
        clean(place, "folder with files")

        third = place.run(COMMAND, variables | {"TRACEAGENT_OUTPUT_OVERWRITE": "true"})
        same_as(bare, third, "overwrite")
        check(len(third.lines()) == 1 and is_result(third.lines()[0]), f"overwrite: {third.lines()}")
        new = {name: (place.path / name).read_bytes() for name in place.files()}
        check(new.keys() == old.keys() and all(new[name] != old[name] for name in old),
              f"overwrite: {sorted(new)}")


def full_disk(bare):
    """Then it is made larger, and the window is written."""
    with Place() as place:
        disk, copies = place.path / "disk", place.path / "copies"
        disk.mkdir()
        # More than 40 bytes an event: 4 steps of 2,000 calls do not fit into what is left of 1 MiB.
        command = [STEADY, 20, 2000]
        script = (f"head -c 800k /dev/zero > {disk}/filled; {shlex.join(map(str, command))}; code=$?; "
                  f"ls -A {disk}/traces > {place.path}/list; mount -o remount,size=64m {disk}; "
                  f"{TRACEAGENT} recover > {place.path}/recovered 2>&1; cp -r {disk}/traces {copies}; exit $code")
        result = place.run(in_mounts([["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]], ["sh", "-c", script]),
                           place.agent(TRACEAGENT_OUTPUT_FOLDER=disk / "traces", TRACEAGENT_DOORS_CUPTI="false"))
        same_as(bare_run(command), result, "full disk")
        kept(result, "full disk", disk, "No space left")
        listed = (place.path / "list").read_text().split()
        check(not [name for name in listed if "json" in name], f"full disk: left {listed}")
        said = (place.path / "recovered").read_text()
        if check((copies / "node0.json").exists(), f"full disk: {said}"):
            trace = place.trace("copies/node0.json")
            check(steps_in(trace) == [3, 4, 5, 6] and len(calls_in(trace)) == 4 * 2001,
                  f"full disk: {len(calls_in(trace))} calls: {said}")
        clean(place, "full disk")


def limited_files(bare):
    with Place() as place:
        command = [STEADY, 20, 2000]
        result = place.run(["sh", "-c", "ulimit -f 128; exec " + shlex.join(map(str, command))],
                           place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="64MiB"))
        same_as(bare_run(command), result, "limited file size")
        # What could not be had, what could not be written, and what is lost with a ring in private memory.
        limits = [line for line in result.lines() if "ulimit -f" in line]
        lost = [line for line in result.lines() if re.search("1 windows of the schedule with [0-9]+ events are lost", line)]
        check(1 <= len(limits) <= 2 and len(lost) == 1 and len(result.lines()) == len(limits) + 1,
              f"limited file size: {result.lines()}")
        check(not place.files(), f"limited file size: left {place.files()}")
        clean(place, "limited file size")


def folder_in_the_way(bare):
    with Place() as place:
        (place.path / "out/ep0-ba7-rank0.json").mkdir(parents=True)
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_OVERWRITE="true"))
        same_as(bare, result, "a folder of that name")
        command = kept(result, "a folder of that name", "ep0-ba7-rank0.json")
        check(place.files() == [], f"a folder of that name: {place.files()}")
        (place.path / "out/ep0-ba7-rank0.json").rmdir()
        recovered(place, command, "a folder of that name", "out/node0.json")


def no_working_folder(bare):
    with Place() as place:
        script = "mkdir gone; cd gone; rmdir ../gone; exec " + shlex.join(map(str, COMMAND))
        result = place.run(["sh", "-c", script], place.agent(TRACEAGENT_OUTPUT_FOLDER="out"))
        same_as(bare, result, "no working folder")
        command = kept(result, "no working folder", "out", "No such file")
        # There is no such folder: whoever does not want to make it discards them.
        done = place.run([*command[:2], "--discard", *command[2:]], variables_of())
        check(done.code == 0 and not list(place.rings.rglob("*.ring")), f"no working folder: {done}")


def limited_resources(bare):
    # With two descriptors neither the index is made anew nor the node's file. A last one is the job's: there is no
    # ring then, no file, no look at others' rings, and that a window is lost is told.
    limits = {"-n 20": 0, "-s 64": 0, "-v 100000": 1, "-n 5": 2, "-n 4": 4}
    if SANITIZED:  # the shadow takes terabytes of addresses, and a pipe is opened to look at an object's type
        limits = {"-n 20": 0, "-s 64": 0}
    for limit, problems in limits.items():
        with Place() as place:
            command = ["sh", "-c", f"ulimit {limit}; exec " + shlex.join(map(str, COMMAND))]
            # Without CUPTI, which may lack descriptors too and says a line of its own.
            variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_DOORS_CUPTI="false")
            result = place.run(command, variables)
            same_as(bare_run(command), result, f"ulimit {limit}")
            said = [line for line in result.lines() if not is_result(line)]
            check(len(said) <= problems, f"ulimit {limit}: {result.lines()}")
            if not said:
                whole(place, "out/ep0-ba7-rank0.json", what=f"ulimit {limit}")
                clean(place, f"ulimit {limit}")


def closed_outputs(bare):
    """Nobody reads what the job and the agent say, or their numbers are closed."""
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FULL="explode")
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.Popen([str(word) for word in COMMAND], env=variables, cwd=place.path,
                                   stdout=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        check(process.wait(timeout=60) == bare.code, f"no reader: exit code {process.returncode}")
        whole(place, "out/node0.json", what="no reader")
    with Place() as place:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while os.write(writer, b"x" * 512):
                pass
        except BlockingIOError:
            os.set_blocking(writer, True)
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_FULL="explode")
        process = subprocess.Popen([str(word) for word in COMMAND], env=variables, cwd=place.path,
                                   stdout=subprocess.DEVNULL, stderr=writer)
        check(process.wait(timeout=60) == bare.code, f"a full pipe: exit code {process.returncode}")
        os.close(reader)
        os.close(writer)
        whole(place, "out/node0.json", what="a full pipe")
    with Place() as place:
        # Cycles are written while it prints to numbers that it closed.
        command = shlex.join(map(str, [STEADY, 100, 10, 2000]))
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="64MiB",
                                TRACEAGENT_SCHEDULE="wait=1,warmup=1,active=3,repeat=0")
        process = subprocess.Popen(["sh", "-c", f"exec {command} 0<&- 1>&- 2>&-"], env=variables, cwd=place.path)
        check(process.wait(timeout=60) == bare.code, f"closed numbers: exit code {process.returncode}")
        names = [name for name in place.files() if name.endswith(".json")]
        check(len(names) > 10, f"closed numbers: {names}")
        for name in names:
            place.trace(name)  # fails where the program's lines are in it
        clean(place, "closed numbers")


run_cases([unwritable_folder, merged_name_of_a_rank, names_with_folders, names_too_long, names_that_end_in_gz,
           four_ranks_unwritable,
           folder_with_files, limited_files,
           folder_in_the_way, no_working_folder, limited_resources, closed_outputs],
           [read_only_folder, full_disk])
