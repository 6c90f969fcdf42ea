#!/usr/bin/env python3
"""Whatever is wrong around a job: the job runs as without the agent, one clear line says what is
wrong and what to do, and what can be right in the output is right."""
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

from jobs import (PROGRAMS, STEADY, STEPS, TRACEAGENT, Checks, Place, bare_run, calls_in, end_of,
                  steps_in, truth_of)
from places import LIBRARY, need

COMMAND = [STEADY, 20, 10]
checks = Checks()
check = checks.check


def same_as(bare, result, what):
    check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
          f"{what}: the job is not the same: {result}, without the agent {bare}")


def one_line(result, what, *words):
    lines = [line for line in result.lines() if not is_result(line)]
    good = len(lines) == 1 and all(str(word).lower() in lines[0].lower() for word in words)
    check(good, f"{what}: wants one line with {words}: {result.lines()}")


def is_result(line):
    return " lost" in line and " events, " in line


def whole(place, name, steps=(3, 4, 5, 6), what=""):
    if not check((place.path / name).exists(), f"{what}: {name} is missing: {place.files()}"):
        return None
    trace = place.trace(name)
    check(trace.get("complete") is True, f"{what}: {name} is not complete")
    check(tuple(steps_in(trace)) == tuple(steps), f"{what}: {name} has steps {steps_in(trace)}")
    return trace


def clean(place, what):
    check(place.left_in_memory() == [], f"{what}: left in memory: {place.left_in_memory()}")


def can_unshare():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0


def in_mounts(mounts, command):
    """The command in a mount namespace of its own, with more mounts (lists of mount's words)."""
    script = "".join(shlex.join(["mount", *map(str, mount)]) + " && " for mount in mounts)
    return ["unshare", "-m", "sh", "-c", script + shlex.join(map(str, command))]


# --- the output folder ---------------------------------------------------------------------------

def unwritable_folder(bare):
    with Place() as place:
        (place.path / "file").write_text("x")
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="file/traces"))
        same_as(bare, result, "folder below a file")
        one_line(result, "folder below a file", place.path / "file", "TRACEAGENT_OUTPUT_FOLDER")
        check(place.files() == ["file"], f"folder below a file: {place.files()}")
        clean(place, "folder below a file")


def read_only_folder(bare):
    with Place() as place:
        folder = place.path / "traces"
        folder.mkdir()
        mounts = [["--bind", folder, folder], ["-o", "remount,bind,ro", folder]]
        result = place.run(in_mounts(mounts, COMMAND), place.agent(TRACEAGENT_OUTPUT_FOLDER=folder))
        same_as(bare, result, "read-only folder")
        one_line(result, "read-only folder", folder, "ead-only")
        check(place.files() == [], f"read-only folder: {place.files()}")
        clean(place, "read-only folder")


def four_ranks_unwritable(bare):
    with Place() as place:
        (place.path / "file").write_text("x")
        running = [place.start(COMMAND, variables)
                   for variables in place.ranks(4, TRACEAGENT_OUTPUT_FOLDER="file/traces")]
        results = [end_of(process) for process in running]
        lines = [line for result in results for line in result.lines()]
        for result in results:
            same_as(bare, result, "four ranks, unwritable folder")
        check(1 <= len(lines) <= 2, f"four ranks, unwritable folder: {lines}")
        clean(place, "four ranks, unwritable folder")


def folder_with_files(bare):
    with Place() as place:
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out")
        first = place.run(COMMAND, variables)
        same_as(bare, first, "first run")
        old = {name: (place.path / name).read_bytes() for name in place.files()}
        check(len(old) == 2, f"first run: {sorted(old)}")
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
    with Place() as place:
        disk = place.path / "disk"
        disk.mkdir()
        # More than 40 bytes an event: 4 steps of 2,000 calls do not fit into 256 KiB.
        command = [STEADY, 20, 2000]
        script = shlex.join(map(str, command)) + f"; code=$?; ls -A {disk}/* > {place.path}/list; exit $code"
        result = place.run(in_mounts([["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]], ["sh", "-c", script]),
                           place.agent(TRACEAGENT_OUTPUT_FOLDER=disk / "traces"))
        same_as(bare_run(command), result, "full disk")
        one_line(result, "full disk", disk, "No space left")
        listed = (place.path / "list").read_text().split()
        check(not [name for name in listed if "json" in name], f"full disk: left {listed}")
        clean(place, "full disk")


def limited_files(bare):
    with Place() as place:
        command = [STEADY, 20, 2000]
        result = place.run(["sh", "-c", "ulimit -f 128; exec " + shlex.join(map(str, command))],
                           place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="64MiB"))
        same_as(bare_run(command), result, "limited file size")
        # What could not be had, and what could not be written.
        check(1 <= len(result.lines()) <= 2 and all("ulimit -f" in line for line in result.lines()),
              f"limited file size: {result.lines()}")
        check(not place.files(), f"limited file size: left {place.files()}")
        clean(place, "limited file size")


def folder_in_the_way(bare):
    with Place() as place:
        (place.path / "out/ep0-ba7-rank0.json").mkdir(parents=True)
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_OUTPUT_OVERWRITE="true"))
        same_as(bare, result, "a folder of that name")
        one_line(result, "a folder of that name", "ep0-ba7-rank0.json")
        check(place.files() == [], f"a folder of that name: {place.files()}")
        clean(place, "a folder of that name")


def no_working_folder(bare):
    with Place() as place:
        script = "mkdir gone; cd gone; rmdir ../gone; exec " + shlex.join(map(str, COMMAND))
        result = place.run(["sh", "-c", script], place.agent(TRACEAGENT_OUTPUT_FOLDER="out"))
        same_as(bare, result, "no working folder")
        one_line(result, "no working folder", "out", "No such file")
        clean(place, "no working folder")


def limited_resources(bare):
    limits = {"-n 20": 0, "-s 64": 0, "-v 100000": 1, "-n 4": 1}
    for limit, problems in limits.items():
        with Place() as place:
            command = ["sh", "-c", f"ulimit {limit}; exec " + shlex.join(map(str, COMMAND))]
            result = place.run(command, place.agent(TRACEAGENT_OUTPUT_FOLDER="out"))
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


# --- options -------------------------------------------------------------------------------------

def with_config(place, text):
    (place.path / "ta.yaml").write_text(text)
    return place.agent(TRACEAGENT_CONFIG="ta.yaml", TRACEAGENT_OUTPUT_FOLDER="out")


def bad_options(bare):
    cases = {
        "broken YAML": ("output: {gzip: [\n", {}, ["ta.yaml"]),
        "unknown key": ("ring: {sise: 1MiB}\n", {}, ["ta.yaml", "ring.sise", "ring.size"]),
        "unknown variable": ("{}\n", {"TRACEAGENT_RING_SISE": "1"}, ["TRACEAGENT_RING_SISE", "TRACEAGENT_RING_SIZE"]),
        "bad value": ("ring: {size: twelve}\n", {}, ["ta.yaml", "ring.size", "twelve", "64MiB"]),
        "bad choice": ("ring: {full: explode}\n", {}, ["ring.full", "explode", "drop"]),
        "too small": ("ring: {size: 1KiB}\n", {}, ["ring.size", "1KiB"]),
        "missing file": (None, {"TRACEAGENT_CONFIG": "/no/such.yaml"}, ["/no/such.yaml"]),
        "a folder as file": (None, {"TRACEAGENT_CONFIG": "/"}, [" /"]),
    }
    for what, (text, more, words) in cases.items():
        with Place() as place:
            result = place.run(COMMAND, with_config(place, text or "{}\n") | more)
            same_as(bare, result, what)
            one_line(result, what, *words)
            whole(place, "out/ep0-ba7-rank0.json", what=what)
            clean(place, what)


def impossible_schedule(bare):
    for schedule in ("active=0", "active=-3", "warmup=many", "nonsense"):
        with Place() as place:
            variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE=schedule)
            result = place.run(COMMAND, variables)
            same_as(bare, result, schedule)
            one_line(result, f"schedule {schedule}", schedule.split("=")[-1], "SCHEDULE")
            # The default: one step of warm-up, four active ones.
            whole(place, "out/ep0-ba5-rank0.json", (1, 2, 3, 4), f"schedule {schedule}")


def too_long_schedule(bare):
    with Place() as place:
        result = place.run(COMMAND, place.agent(TRACEAGENT_OUTPUT_FOLDER="out",
                                                TRACEAGENT_SCHEDULE="skip_first=1000,active=1"))
        same_as(bare, result, "schedule beyond the end")
        one_line(result, "schedule beyond the end", "no trace", "skip_first")
        check(place.files() == [], f"schedule beyond the end: {place.files()}")
        clean(place, "schedule beyond the end")


# --- libcudart -----------------------------------------------------------------------------------

def no_cudart(bare):
    source = r"""
import ctypes
process = ctypes.CDLL(None)
for name in ("cudaMalloc", "ncclGetVersion"):
    try:
        function = getattr(process, name)
    except AttributeError:
        print(name, "absent")
    else:
        pointer = ctypes.c_void_p()
        print(name, function(ctypes.byref(pointer), ctypes.c_size_t(64)))
"""
    with Place() as place:
        result = place.run([sys.executable, "-c", source], place.agent())
        check(result.code == 0 and result.own_err() == [], f"no cudart: {result}")
        # The wrapper is found where nothing was (a known gap): it must answer as the API would.
        answers = dict(line.split() for line in result.out.splitlines())
        check(answers.get("cudaMalloc") in ("absent", "302"), f"no cudart: {answers}")
        check(answers.get("ncclGetVersion") in ("absent", "3"), f"no NCCL: {answers}")
        check(place.files() == [] and result.lines() == [], f"no cudart: {place.files()} {result.lines()}")
        clean(place, "no cudart")


# --- the ring ------------------------------------------------------------------------------------

def truth_of_steps(records, first, last):
    """The calls from the synchronization that begins step `first` up to the one that ends `last`."""
    calls = sorted((record for record in records if record["kind"] == "call"), key=lambda r: r["number"])
    begins = [i for i, record in enumerate(calls) if record["function"] == "cudaDeviceSynchronize"]
    return calls[begins[first]:begins[last + 1]]


def small_ring(bare):
    with Place() as place:
        command = [STEADY, 12, 20000]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="256KiB",
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
        command = [STEADY, 20, 4000, 0, 4]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="1MiB",
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


def overwriting_ring(bare):
    with Place() as place:
        command = [STEADY, 12, 20000]
        variables = place.agent(TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="1MiB",
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


def ranks_in_shell(command, count):
    """A shell that runs `count` ranks and ends with the code of the last that failed."""
    each = " & pids=\"$pids $!\"; ".join(
        f"RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={count} LOCAL_WORLD_SIZE={count} GROUP_RANK=0 "
        + shlex.join(map(str, command)) for rank in range(count))
    return ["sh", "-c", each + " & pids=\"$pids $!\"; code=0; for p in $pids; do wait $p || code=$?; done; exit $code"]


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


# --- ranks ---------------------------------------------------------------------------------------

def four_ranks_in_node_file(place, name, what, ranks=(0, 1, 2, 3)):
    if not check((place.path / name).exists(), f"{what}: no {name}: {place.files()}"):
        return None
    trace = place.trace(name)
    found = sorted({event["pid"] for event in calls_in(trace)})
    check(found == sorted(ranks), f"{what}: the node file has {found}")
    return trace


def run_with_second_claimant(bare, place, script, what):
    """Rank 0's shell runs the script, which runs the program twice; rank 1 runs it once."""
    first, second = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out")
    running = [place.start(["sh", "-c", script], first),
               place.start([*COMMAND, 50_000], second)]
    results = [end_of(process) for process in running]
    for result in results:
        check((result.code, result.out) == (bare.code, bare.out), f"{what}: {result}")
    inner = (place.path / "inner.txt").read_text()
    check(inner == bare.out, f"{what}: the other printed {inner}")
    lines = [line for result in results for line in result.lines()]
    check(lines and all(is_result(line) for line in lines), f"{what}: {lines}")
    names = [name for name in place.files() if "rank0" in name]
    check(len(names) == 2 and sum("-pid" in name for name in names) == 1, f"{what}: {place.files()}")
    return next((name for name in names if "-pid" in name), None)


def same_rank(bare):
    with Place() as place:
        script = shlex.join(map(str, [*COMMAND, 50_000]))  # long enough to meet
        second = run_with_second_claimant(bare, place, f"{script} > inner.txt & {script}", "same rank")
        trace = four_ranks_in_node_file(place, "out/node0.json", "same rank", (0, 1, 1_000_000))
        if trace and second:
            pid = int(second.split("-pid")[1].split(".")[0])
            named = [event["args"]["name"] for event in trace["traceEvents"]
                     if event["name"] == "process_name" and event["pid"] == 1_000_000]
            check(named and f"pid {pid}" in named[0], f"same rank: {named}")
        clean(place, "same rank")


def same_rank_before(bare):
    """A child that inherits the rank and is gone before the rank itself begins."""
    with Place() as place:
        script = shlex.join(map(str, [*COMMAND, 50_000]))
        run_with_second_claimant(bare, place, f"{script} > inner.txt; {script}", "same rank before")
        trace = four_ranks_in_node_file(place, "out/node0.json", "same rank before", (0, 1))
        check(trace and len(steps_in(trace)) == 12, "same rank before: not all is in the node file")
        clean(place, "same rank before")


def separate_memory(bare, slow=None):
    """Ranks that do not see each other's rings; `slow`: that rank runs two seconds longer."""
    what = f"separate memory, slow {slow}"
    with Place() as place:
        running = []
        for rank, variables in enumerate(place.ranks(4, TRACEAGENT_OUTPUT_FOLDER="out")):
            rings = place.rings / f"container{rank}"
            rings.mkdir()
            command = [STEADY, 20, 10, 50_000 if rank == slow else 0]
            running.append(place.start(command, variables | {"TRACEAGENT_RING_FOLDER": str(rings)}))
        results = [end_of(process) for process in running]
        for result in results:
            same_as(bare, result, what)
        trace = four_ranks_in_node_file(place, "out/node0.json", what)
        if trace:
            check(trace.get("complete") is True, f"{what}: not complete: {[r.lines() for r in results]}")
        check(sum(len(result.lines()) for result in results) <= 2, f"{what}: {[r.lines() for r in results]}")
        left = [name for name in place.left_in_memory() if not name.startswith("container") or "/" in name]
        check(left == [], f"{what}: left in memory: {left}")


def early_exit(bare):
    with Place() as place:
        # Rank 2 ends in the middle of its window.
        running = [place.start([STEADY, 4 if rank == 2 else 20, 10, 20_000], variables)
                   for rank, variables in enumerate(place.ranks(4, TRACEAGENT_OUTPUT_FOLDER="out"))]
        results = [end_of(process) for process in running]
        check(all(result.code == 3 for result in results), f"early exit: {results}")
        trace = four_ranks_in_node_file(place, "out/node0.json", "early exit")
        if trace:
            steps = {rank: [e["args"]["step"] for e in trace["traceEvents"] if e["pid"] == rank
                            and e["name"].startswith("ProfilerStep#")] for rank in range(4)}
            check(steps == {0: [3, 4, 5, 6], 1: [3, 4, 5, 6], 2: [3, 4], 3: [3, 4, 5, 6]},
                  f"early exit: steps {steps}")
        clean(place, "early exit")


def killed_rank(bare, victim):
    """SIGKILL in the middle of the window; the others go on."""
    what = f"rank {victim} killed"
    with Place() as place:
        truth = place.path / "truth"
        truth.mkdir()
        more = {"TRACEAGENT_OUTPUT_FOLDER": "out", "SIMGPU_TRUTH": truth / "{rank}.truth",
                "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=25,repeat=1"}
        running = [place.start([STEADY, 30, 10, 40_000], variables) for variables in place.ranks(4, **more)]
        wait_for_steps(truth / f"{victim}.truth", 12)
        running[victim].send_signal(signal.SIGKILL)
        results = [end_of(process) for process in running]
        codes = [result.code for result in results]
        check(codes == [-9 if rank == victim else 3 for rank in range(4)], f"{what}: {codes}")
        trace = four_ranks_in_node_file(place, "out/node0.json", what)
        if trace:
            check_recovered(trace, victim, truth_of(truth / f"{victim}.truth"), what)
        lines = [line for result in results for line in result.lines()]
        check(any(f"rank {victim} died" in line for line in lines) and len(lines) <= 2, f"{what}: {lines}")
        clean(place, what)


def killed_while_waiting(bare):
    """Local rank zero has written its file and waits for its peer when it is killed."""
    with Place() as place:
        variables = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out")
        running = [place.start([STEADY, 20, 10, pause], own) for pause, own in zip((0, 100_000), variables)]
        for _ in range(400):
            if any("rank0" in name for name in place.files()):
                break
            time.sleep(0.01)
        time.sleep(0.3)
        check(running[0].poll() is None, "killed while waiting: it does not wait")
        running[0].send_signal(signal.SIGKILL)
        results = [end_of(process) for process in running]
        check([result.code for result in results] == [-9, 3], f"killed while waiting: {results}")
        four_ranks_in_node_file(place, "out/node0.json", "killed while waiting", (0, 1))
        clean(place, "killed while waiting")


def wait_for_steps(truth, count):
    for _ in range(400):
        if truth.exists() and sum(record.get("function") == "cudaDeviceSynchronize"
                                  for record in truth_of(truth)) >= count:
            return
        time.sleep(0.05)


def check_recovered(trace, victim, records, what):
    """All calls from its window's first step to its death, but the one it may have died in."""
    calls = sorted((r for r in records if r["kind"] == "call"), key=lambda r: r["number"])
    begins = [i for i, r in enumerate(calls) if r["function"] == "cudaDeviceSynchronize"]
    wanted = [r["function"] for r in calls[begins[3]:]]
    found = [e["name"] for e in calls_in(trace) if e["pid"] == victim]
    check(found == wanted or found[:-1] == wanted or found == wanted[:-1],
          f"{what}: {len(found)} of its calls, the truth is {len(wanted)}")
    print(f"{what}: {len(found)} calls recovered, truth {len(wanted)}")


def stopped_rank(bare):
    """A rank that still runs after merge.timeout: its absence is told, nothing waits for it."""
    with Place() as place:
        running = [place.start([STEADY, 20, 10], variables) for variables in
                   place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_MERGE_TIMEOUT="1s")[:1]]
        variables = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out")[1]
        variables["TORCHELASTIC_RUN_ID"] = "x"
        results = [end_of(process) for process in running]
        same_as(bare, results[0], "a missing rank")
        trace = four_ranks_in_node_file(place, "out/node0.json", "a missing rank", (0,))
        check(any("nothing from rank 1" in line for line in results[0].lines()),
              f"a missing rank: {results[0].lines()}")
        if trace:
            check("complete" not in trace, "a missing rank: the node file says it is complete")


def late_rank(bare):
    with Place() as place:
        all_variables = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_MERGE_TIMEOUT="1s")
        running = [place.start([STEADY, 20, 10, pause], variables)
                   for pause, variables in zip((0, 300_000), all_variables)]
        first = end_of(running[0])
        check(running[1].poll() is None, "a late rank: it ended too early for this test")
        second = end_of(running[1])
        same_as(bare, first, "a late rank")
        same_as(bare, second, "a late rank")
        check(any("rank 1 still runs" in line for line in first.lines()), f"a late rank: {first.lines()}")
        names = [name for name in place.files() if "rank1" in name]
        check(names == ["out/ep0-ba7-rank1.json"], f"a late rank: {place.files()}")
        clean(place, "a late rank")


NEED_MOUNTS = [read_only_folder, full_disk, small_dev_shm, unwritable_dev_shm]
PLAIN = [unwritable_folder, four_ranks_unwritable, folder_with_files, limited_files, bad_options,
         impossible_schedule, too_long_schedule, no_cudart, small_ring,
         small_ring_in_cycles, overwriting_ring, foreign_ring_folder, folder_in_the_way, no_working_folder,
         limited_resources, closed_outputs, no_dev_shm,
         same_rank, same_rank_before, separate_memory, early_exit, stopped_rank, late_rank, killed_while_waiting]


def main():
    need(LIBRARY, "the library")
    need(STEADY, "tests/programs/steady")
    bare = bare_run(COMMAND)
    check(bare.code == 3 and bare.out.endswith("free 0\n"), f"without the agent: {bare}")
    wanted = sys.argv[3:]
    cases = PLAIN + (NEED_MOUNTS if can_unshare() else [])
    for case in cases:
        if not wanted or case.__name__ in wanted:
            started = time.monotonic()
            case(bare)
            print(f"{case.__name__}: {time.monotonic() - started:.1f} s", flush=True)
    for victim in (2, 0):
        if not wanted or "killed_rank" in wanted:
            killed_rank(bare, victim)
    if not wanted or "slow_separate_memory" in wanted:
        separate_memory(bare, slow=0)
        separate_memory(bare, slow=3)
    return checks.end()


sys.exit(main())
