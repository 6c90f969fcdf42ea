#!/usr/bin/env python3
"""Ranks that are two, apart, late, gone or killed."""
import shlex
import signal
import time

from jobs import STEADY, Place, calls_in, end_of, steps_in, truth_of, wait_until_said
from places import SLOWDOWN
from untouched_job import (COMMAND, check, clean, four_ranks_in_node_file, is_result, run_cases,
                           same_as)


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
    mixed = [line for line in lines if "rank 0 is of several processes of one number" in line]
    check(lines and all(is_result(line) or line in mixed for line in lines), f"{what}: {lines}")
    check(bool(mixed) == (what == "same rank before"), f"{what}: mixed: {lines}")
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


def slow_separate_memory(bare):
    for rank in (0, 3):
        separate_memory(bare, slow=rank)


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


def killed_rank(bare, victim):
    """SIGKILL in the middle of the window; the others go on."""
    what = f"rank {victim} killed"
    with Place() as place:
        truth = place.path / "truth"
        truth.mkdir()
        more = {"TRACEAGENT_OUTPUT_FOLDER": "out", "SIMGPU_TRUTH": truth / "{rank}.truth",
                "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=25,repeat=1"}
        # Slow steps, so that a busy machine too kills it in its window, and long before the others end.
        running = [place.start([STEADY, 30 if rank == victim else 50, 10, 100_000 * SLOWDOWN], variables)
                   for rank, variables in enumerate(place.ranks(4, **more))]
        check(wait_until_said(running[victim], "step 10"), f"{what}: it records")
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


def killed_ranks(bare):
    for victim in (2, 0):
        killed_rank(bare, victim)


def killed_before_others_begin(bare):
    """Local rank zero is dead, recovered and merged with its peer when the node's other ranks begin."""
    what = "killed before others begin"
    with Place() as place:
        truth = place.path / "0.truth"
        variables = place.ranks(4, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_SCHEDULE="active=100,warmup=0")
        variables[0]["SIMGPU_TRUTH"] = str(truth)
        running = [place.start([STEADY, 1000, 10, 20_000], variables[0]),
                   place.start([STEADY, 60, 10, 50_000], variables[1])]
        wait_for_steps(truth, 8)
        running[0].send_signal(signal.SIGKILL)
        first = [end_of(process) for process in running]
        four_ranks_in_node_file(place, "out/node0.json", f"{what}: the first two", (0, 1))
        running = [place.start([STEADY, 20, 10], own) for own in variables[2:]]
        results = first + [end_of(process) for process in running]
        check([result.code for result in results] == [-9, 3, 3, 3], f"{what}: {results}")
        four_ranks_in_node_file(place, "out/node0.json", what)
        clean(place, what)


def killed_while_waiting(bare):
    """Local rank zero has written its file and waits for its peer when it is killed."""
    with Place() as place:
        variables = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out")
        running = [place.start([STEADY, 20, 10, pause], own) for pause, own in zip((0, 200_000), variables)]
        for _ in range(2000):
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
        all_variables = place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_MERGE_TIMEOUT="2s")
        # The wait uses up merge.timeout, and exit.timeout is no time to merge in.
        all_variables[0]["TRACEAGENT_EXIT_TIMEOUT"] = "1ms"
        running = [place.start([STEADY, 20, 10, pause], variables)
                   for pause, variables in zip((0, 300_000), all_variables)]
        first = end_of(running[0])
        check(running[1].poll() is None, "a late rank: it ended too early for this test")
        second = end_of(running[1])
        same_as(bare, first, "a late rank")
        same_as(bare, second, "a late rank")
        check(not any("not written" in line for line in first.lines()), f"a late rank: {first.lines()}")
        check(any("rank 1 still runs" in line for line in first.lines()), f"a late rank: {first.lines()}")
        names = [name for name in place.files() if "rank1" in name]
        check(names == ["out/ep0-ba7-rank1.json"], f"a late rank: {place.files()}")
        clean(place, "a late rank")


run_cases([same_rank, same_rank_before, separate_memory, slow_separate_memory, early_exit,
           killed_ranks, killed_before_others_begin, killed_while_waiting, stopped_rank, late_rank])
