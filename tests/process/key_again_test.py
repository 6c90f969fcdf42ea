#!/usr/bin/env python3
"""The key of a run that ended in good order comes again: a static address and port, or two programs under one launcher.
Each run has its own files, and a node file of its own."""
import os
import signal
import sys
import time

from jobs import STEADY, TRACEAGENT, Checks, Place, end_of, steps_in, wait_until

checks = Checks()
check = checks.check
COMMAND = [STEADY, 20, 200]
WINDOWS = "TRACEAGENT_SCHEDULE"


def ranks(place, rings=None, count=2, world=4, **more):
    """Of the first of several nodes: nothing but address and port names the job."""
    for rank in range(count):
        folder = rings / f"{rank}-{time.monotonic_ns()}" if rings else place.rings
        folder.mkdir(exist_ok=True)
        yield place.agent(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=world, LOCAL_WORLD_SIZE=count, MASTER_ADDR="nodeA",
                          MASTER_PORT=29500, **{"TRACEAGENT_RING_FOLDER": folder, **more})


def run(place, what, variables, command=None):
    running = [place.start(command or COMMAND, own) for own in variables]
    ended = [end_of(process) for process in running]
    check(all(each.code == 3 for each in ended), f"{what}: {ended}")
    check(not any(path.is_file() for path in place.rings.rglob("*")), f"{what}: left {place.left_in_memory()}")
    return [line for each in ended for line in each.lines()], {process.pid for process in running}


def node_files(place):
    return [name for name in place.files() if "/node0" in name]


def check_node_file(place, what, name, pids, steps, count=2):
    trace = place.trace(name)
    merged = {about["identity"]["pid"] for about in trace["traceagent"]["merged"]}
    check(merged == pids and trace["complete"] is True, f"{what}: {name}: made of {merged}, not {pids}")
    check(len(steps_in(trace)) == count * steps, f"{what}: {name}: {len(steps_in(trace))} steps")


def twice(private, overwrite=False):
    what = f"twice, {'a folder of rings each' if private else 'one memory'}, overwrite {overwrite}"
    with Place() as place:
        more = {"TRACEAGENT_OUTPUT_OVERWRITE": str(overwrite).lower()}
        rings = place.rings if private else None
        more_windows = {WINDOWS: "wait=2,warmup=1,active=4,repeat=2"}
        first, first_pids = run(place, what, ranks(place, rings, **more, **more_windows))
        check(len(first) == 1, f"{what}: {first}")
        second, pids = run(place, what, ranks(place, rings, **more))
        files = node_files(place)
        if not check(len(files) == (1 if overwrite else 2), f"{what}: {files}: {second}"):
            return
        if overwrite:
            check(len(second) == 1, f"{what}: {second}")
            return check_node_file(place, what, files[0], pids, 4)
        check(len(second) == 2 and all("/node0-pid" in line for line in second)
              and "earlier run of the same key (nodeA-29500)" in second[1] and "/node0.json," in second[1]
              and "TRACEAGENT_RUN_NAME" in second[1], f"{what}: {second}")
        check_node_file(place, what, files[1], first_pids, 8)
        check_node_file(place, what, files[0], pids, 4)


def two_programs():
    """Under one launcher: this process."""
    with Place() as place:
        variables = [place.agent(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=2, LOCAL_WORLD_SIZE=2) for rank in range(2)]
        first, first_pids = run(place, "two programs", variables)
        second, pids = run(place, "two programs", variables)
        files = node_files(place)
        if check(len(files) == 2, f"two programs: {files}: {first} {second}"):
            check_node_file(place, "two programs", files[1], first_pids, 4)
            check_node_file(place, "two programs", files[0], pids, 4)


def late_rank():
    """It begins when all of its run that began before has ended, and been merged: it is of that run."""
    with Place() as place:
        first, second = ranks(place)
        zero, zero_pids = run(place, "late rank", [first])
        one, one_pids = run(place, "late rank", [second])
        files = node_files(place)
        if check(len(files) == 1, f"late rank: {files}: {zero} {one}"):
            check_node_file(place, "late rank", files[0], zero_pids | one_pids, 4)


def two_programs_of_a_shell():
    """Of one rank, with a pause in which the first one's run ends: they are one run, and have one number."""
    with Place() as place:
        variables = list(ranks(place))
        running = [place.start(["sh", "-c", f"{STEADY} 20 200; sleep 3; {STEADY} 20 200; exit 3"], own) for own in variables]
        ended = [end_of(process) for process in running]
        files = node_files(place)
        if not check(len(files) == 1 and all(each.code == 3 for each in ended), f"a shell: {files}: {ended}"):
            return
        lines = [line for each in ended for line in each.lines() if "is of several processes" in line]
        trace = place.trace(files[0])
        faults = [fault["file"] for fault in trace["traceagent"]["incomplete"]]
        check(len(trace["traceagent"]["merged"]) == 4 and "complete" not in trace and faults == ["rank 0", "rank 1"],
              f"a shell: {files[0]}: {faults}")
        check(lines and all("node0.json: rank " in line and "merge each run's files" in line for line in lines),
              f"a shell: {ended}")


def grown(killed, worlds):
    """The key comes again with more ranks on the node, one that the earlier run did not have first."""
    what = f"grown, the first was {'killed' if killed else 'whole'}, worlds of {worlds}"
    with Place() as place:
        variables = list(ranks(place, world=worlds[0]))
        if killed:
            first = [place.start([STEADY, 20000, 50, 2000], own) for own in variables]
            wait_until(lambda: len([name for name in place.files() if "-rank" in name]) == 2)
            for process in first:
                process.kill()
                end_of(process)
            first_pids = {process.pid for process in first}
        else:
            _, first_pids = run(place, what, variables)
        *others, last = ranks(place, count=4, world=worlds[1])
        running = [place.start([STEADY, 300, 50, 2000], last)]
        check(wait_until(lambda: list(place.rings.rglob("3-*.ring"))), f"{what}: no ring")
        running += [place.start([STEADY, 300, 50, 2000], own) for own in others]
        ended = [end_of(process) for process in running]
        lines = [line for each in ended for line in each.lines()]
        check(all(each.code == 3 for each in ended), f"{what}: {ended}")
        check(sum("an earlier run of this name was killed" in line for line in lines) == killed
              and not any("died" in line for line in lines), f"{what}: {lines}")
        if killed:
            recovered = place.run([TRACEAGENT, "recover", "--all"], place.agent(LD_PRELOAD=""))
            check(recovered.code == 0 and place.left_in_memory() == [], f"{what}: {recovered}, {place.left_in_memory()}")
        else:
            check(any("earlier run of the same key (nodeA-29500)" in line for line in lines), f"{what}: {lines}")
        files = node_files(place)
        if not check(len(files) == 2, f"{what}: {files}: {lines}"):
            return
        of_first = [name for name in files if len(place.trace(name)["distributedInfo"]["ranks"]) == 2]
        of_second = [name for name in files if name not in of_first]
        if check(len(of_first) == 1, f"{what}: ranks of {files}"):
            check_node_file(place, what, of_second[0], {process.pid for process in running}, 4, count=4)
            merged = {about["identity"]["pid"] for about in place.trace(of_first[0])["traceagent"]["merged"]}
            check(merged == first_pids, f"{what}: {of_first}: made of {merged}, not {first_pids}")


def command_again(is_one_first):
    """The same command on several nodes: its first run died before rank 1 made a call; in the second, of another
    launcher, rank 1 is first, or rank 0."""
    what = f"command again, rank {int(is_one_first)} first"
    with Place() as place:
        variables = {key: value for key, value in next(ranks(place)).items() if key not in ("RANK", "LOCAL_RANK")}
        process = f"RANK=$0 LOCAL_RANK=$0 {STEADY}"
        first = place.start(["sh", "-c", f"{process.replace('$0', '0')} 20000 50 2000 & echo $! > rank0; wait"], variables)
        check(wait_until(lambda: [name for name in place.files() if "-rank" in name]), f"{what}: no file")
        first.kill()
        os.kill(int((place.path / "rank0").read_text()), signal.SIGKILL)
        end_of(first)
        order = (1, 0) if is_one_first else (0, 1)
        begun = f"until ls {place.rings}/*/*/{order[0]}-*.ring > /dev/null 2>&1; do sleep 0.05; done"
        one, other = (process.replace("$0", str(rank)) + " 300 50 2000" for rank in order)
        # The dead run's ring of rank 0 is no longer where the new one's is.
        if not is_one_first:
            begun = "sleep 0.5"
        second = end_of(place.start(["sh", "-c", f"{one} & {begun}; {other} & wait; exit 3"], variables))
        lines = second.lines()
        check(second.code == 3 and sum("an earlier run of this name was killed" in line for line in lines) == 1
              and not any("died" in line for line in lines), f"{what}: {second}")
        recovered = place.run([TRACEAGENT, "recover", "--all"], place.agent(LD_PRELOAD=""))
        check(recovered.code == 0 and place.left_in_memory() == [], f"{what}: {recovered}, {place.left_in_memory()}")
        files = node_files(place)
        made_of = sorted(len(place.trace(name)["traceagent"]["merged"]) for name in files)
        whole = [name for name in files if place.trace(name).get("complete") is True]
        check(made_of == [1, 2] and len(whole) == 1, f"{what}: {files} are of {made_of} processes, complete: {whole}")
        pids = [{about["identity"]["pid"] for about in place.trace(name)["traceagent"]["merged"]} for name in files]
        check(len(pids) == 2 and not pids[0] & pids[1], f"{what}: processes {pids}")


def straggler():
    """Of an earlier run, whose launcher has ended: it lives on with rank 0's number."""
    with Place() as place:
        variables = list(ranks(place))
        launcher = place.start(["sh", "-c", f"RANK=0 LOCAL_RANK=0 {STEADY} 100000 200 2000 > /dev/null 2>&1 & echo $!"],
                               {key: value for key, value in variables[0].items() if key not in ("RANK", "LOCAL_RANK")})
        old = int(end_of(launcher).out)
        try:
            check(wait_until(lambda: list(place.rings.rglob("0-*.ring"))), "straggler: no ring")
            ended = [end_of(process) for process in [place.start(COMMAND, own) for own in variables]]
            check(all(each.code == 3 for each in ended), f"straggler: {ended}")
            lines = [line for each in ended for line in each.lines()]
            check(len(lines) == 1 and f"rank 0: process {old} still runs" in lines[0] and "end it" in lines[0],
                  f"straggler: {lines}")
        finally:
            os.kill(old, signal.SIGKILL)
        # Its death is not ours to wait for.
        check(wait_until(lambda: place.run([TRACEAGENT, "recover", "--all"], place.agent(LD_PRELOAD="")).code == 0
                         and place.left_in_memory() == []), f"straggler: {place.left_in_memory()}")


twice(private=False)
twice(private=True)
twice(private=False, overwrite=True)
twice(private=True, overwrite=True)
two_programs()
late_rank()
two_programs_of_a_shell()
for worlds in ((4, 8), (8, 8)):
    grown(killed=False, worlds=worlds)
    # Of one size, of a launcher that lives and at once they may be late ranks of the killed run.
    if worlds[0] != worlds[1]:
        grown(killed=True, worlds=worlds)
for is_one_first in (True, False):
    command_again(is_one_first)
straggler()
sys.exit(checks.end())
