#!/usr/bin/env python3
"""Kills what the agent and its tools do, again and again, and looks for every event that was published.

usage: kill_test.py BUILD DEPS CASE... [--kills N] [--seed S]
cases: calls, moments, threads, full, rank, all_ranks, older_run, merge_again, remote, counters, recover, merge; N
kills each"""

import collections
import os
import pathlib
import random
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "process"), str(HERE.parent / "faults")]

# The paths above come first: what is imported here lies there.
import true_counters  # noqa: E402
from fault_places import read_places  # noqa: E402
from killed_job import WINDOWS, KilledJob, hit_in  # noqa: E402
from places import ARGUMENTS, BUILD, LIBRARY, need  # noqa: E402
from points import all_points, choose, rules_beyond  # noqa: E402
from published import Comparison, device_work, dropped  # noqa: E402
from remote import RemoteJob  # noqa: E402
from sampled import Answers, counter_problems  # noqa: E402
from trace_file import Trace  # noqa: E402


class Table:
    """Point × kills × events published × events found."""

    def __init__(self):
        self._rows = collections.defaultdict(collections.Counter)
        self.problems = []

    def add(self, point, **counts):
        self._rows[point].update(counts)

    def kills(self):
        return sum(row["kills"] for row in self._rows.values())

    def print(self):
        columns = ["kills", "published", "found", "delivered", "shown"]
        print(f"{'killed':50} {'kills':>6} {'published':>10} {'found':>10}   device: handed over, shown")
        for point, row in sorted(self._rows.items()):
            print(f"{point:50} " + " ".join(f"{row[column]:>{width}}" for column, width in
                                            zip(columns, (6, 10, 10, 14, 6))))
        total = sum(self._rows.values(), collections.Counter())
        print(f"{'all':50} " + " ".join(f"{total[column]:>{width}}" for column, width in
                                        zip(columns, (6, 10, 10, 14, 6))))


def check(table, job, what, condition, words):
    if not condition:
        table.problems.append(f"{what}: {words}")
    return bool(condition)


def age_folders(job):
    """A folder without any claim is a run's that begins just now, for two seconds."""
    for folder in (path for path in [job.rings, *job.rings.rglob("*")] if path.is_dir()):
        os.utime(folder, (time.time() - 60, time.time() - 60))


def recovered(table, job, what):
    """`traceagent recover`, and once more: nothing is left then."""
    age_folders(job)
    first = job.tool("recover")
    check(table, job, what, first.code == 0 and first.err == "", f"recover: {first}")
    again = job.tool("recover")
    check(table, job, what, again.code == 0 and "no ring of a dead process" in again.out, f"again: {again}")
    left = job.left_in_memory()
    check(table, job, what, left == [], f"left in memory: {left}")
    hidden = [path.name for path in (job.path / "out").glob(".*") if path.name != ".traceagent-upload"]
    check(table, job, what, hidden == [], f"half-written files are left: {hidden}")
    return first


def compared(table, job, what, name, killed, threads, may_drop):
    """All ranks' events in a file; returns the sums of the ranks."""
    trace = job.trace(name)
    sums = collections.Counter()
    if trace is not None:
        problems = [p for p in trace.problems() if p != "the file is not complete" and " dropped " not in p]
        problems += true_counters.lies_in(trace.document, is_simulated=False)
        check(table, job, what, not problems, f"{name}: {problems[:3]}")
        lacks = any(about.get("recovered") for about in trace.about) or \
            trace.document["traceagent"].get("missing_ranks")
        says = trace.document.get("complete") is True
        check(table, job, what, says != bool(lacks), f"{name}: complete is {says}, but {lacks}")
    for rank in range(job.ranks):
        records = job.truth(rank)
        pairs = Comparison(records, trace, rank, WINDOWS, rank in killed, may_drop)
        for problem in pairs.problems[:3]:
            check(table, job, what, False, f"{name}: {problem}")
        sums.update(published=pairs.published, found=pairs.found)
        lost = 0 if trace is None else dropped(trace, rank, "ring_full")
        check(table, job, what, 0 <= pairs.found + lost - pairs.published <= (threads if may_drop else 0),
              f"{name}: rank {rank}: {pairs.found} found and {lost} lost of {pairs.published}")
        delivered, shown, missing = device_work(records, trace, rank, WINDOWS)
        sums.update(delivered=delivered, shown=shown)
        check(table, job, what, shown >= delivered or missing, f"{name}: {shown} of {delivered} works on the device")
    return sums


def checked(table, job, what, point, killed, kills=1, threads=1, may_drop=False):
    """The node's file, and one that `traceagent merge` makes of the ranks' files."""
    sums = compared(table, job, what, "out/node0.json", killed, threads, may_drop)
    table.add(point, kills=kills, **sums)
    if job.rank_files():
        merged = job.tool("merge", "out", "-o", "all.json")
        check(table, job, what, merged.code == 0 and merged.err == "", f"merge: {merged}")
        again = compared(table, job, what, "all.json", killed, threads, may_drop)
        check(table, job, what, again == sums, f"merge by hand has {again}, the node's file {sums}")


def places_of(function, **how):
    """The agent's calls in a run that is let live; its checks hold as for any other."""
    with KilledJob() as job:
        job.start(faults=LIVE, **how)
        ended = job.end()[0]
        if ended.code != 3:
            sys.exit(f"the program does not run: {ended}")
        return function(job.path / "places0")


LIVE = "sigpending#1000000=kill"  # counts the calls, and never strikes
SAMPLED = {"pause_us": 10_000, **true_counters.OPTIONS}


def killed_at(table, point, **how):
    with KilledJob() as job:
        ended = job.start(faults=point.rule, **how).end()
        if ended.code == 3:
            return False  # it did not come to that call
        what = f"killed {point}"
        check(table, job, what, ended.code == -signal.SIGKILL, f"the job: {ended}")
        recovered(table, job, what)
        checked(table, job, what, point.name, {0})
        return True


def calls(table, count, chance):
    """Of one process, at chosen calls of the agent's."""
    points = choose(places_of(all_points), count * 2, chance)
    done = 0
    for point in points:
        done += killed_at(table, point)
        if done == count:
            break


def killed_at_moment(table, chance, point, longest_s, may_drop=False, **how):
    with KilledJob() as job:
        process = job.start(**how)
        if chance.random() < 0.8:
            job.wait_for_ring()
        delay_s = chance.random() * longest_s
        time.sleep(delay_s)
        process.kill()
        ended = process.end()
        if ended.code == 3:
            return False
        what = f"killed after {delay_s:.3f} s"
        recovered(table, job, what)
        checked(table, job, what, point, {0}, threads=how.get("threads", 1), may_drop=may_drop)
        return True


def repeat(count, one):
    """Until so many were killed; who is always too late for that does not go on for ever."""
    done = tried = 0
    while done < count and tried < 3 * count + 10:
        done += int(one())
        tried += 1


def life_s(**how):
    """Of such a run from its ring on, on this machine as busy as it is."""
    with KilledJob() as job:
        process = job.start(**how)
        job.wait_for_ring()
        began = time.monotonic()
        process.end()
        return time.monotonic() - began


def killed_in_life(table, count, chance, point, may_drop=False, **how):
    longest_s = life_s(**how)
    repeat(count, lambda: killed_at_moment(table, chance, point, longest_s, may_drop, **how))


def moments(table, count, chance):
    killed_in_life(table, count, chance, "at any moment")


def threads(table, count, chance):
    killed_in_life(table, count, chance, "at any moment, 4 threads, no pause", steps=40, calls=40, pause_us=0,
                   threads=4, TRACEAGENT_RING_SIZE="16MiB")


def full(table, count, chance):
    """A ring that is too small: what is not there is counted."""
    killed_in_life(table, count, chance, "at any moment, ring full", may_drop=True, steps=40, calls=300, pause_us=0,
                   threads=2, TRACEAGENT_RING_SIZE="1MiB")


def rank(table, count, chance):
    """One of four, zero as often as the others, while they go on; then nobody needs `recover`."""
    points = choose(places_of(all_points), count * 8, chance)

    def one():
        victim, point = chance.choice((0, 0, 1, 3)), points.pop()
        with KilledJob(ranks=4) as job:
            for number in range(4):
                job.start(number, faults=point.rule if number == victim else "")
            ended = job.end()
            if ended[victim].code == 3:
                return False
            what = f"rank {victim} of 4 killed {point}"
            others = [process for number, process in enumerate(ended) if number != victim]
            check(table, job, what, all(process.code == 3 for process in others), f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, f"rank {'zero' if victim == 0 else 'other'} of 4", {victim})
            return True

    repeat(count, one)


def all_ranks(table, count, chance):
    def one():
        with KilledJob(ranks=4) as job:
            for number in range(4):
                job.start(number)
            job.wait_for_ring()
            time.sleep(chance.random() * 0.12)
            for process in job.processes.values():
                process.kill()
            codes = [process.code for process in job.end()]
            killed = {number for number, code in enumerate(codes) if code == -signal.SIGKILL}
            if not killed:
                return False
            what = f"ranks {killed} of 4 killed"
            recovered(table, job, what)
            checked(table, job, what, "all ranks of 4", killed)
            return True

    repeat(count, one)


def a_dead_job(job, chance):
    """Two ranks killed in the middle of their run."""
    for number in range(2):
        job.start(number, steps=100)
    job.wait_for_ring()
    time.sleep(0.03 + chance.random() * 0.05)
    for process in job.processes.values():
        process.kill()
    return {number for number, process in enumerate(job.end()) if process.code == -signal.SIGKILL}


def older_run(table, count, chance):
    """A run of the key of one that was killed is killed too, while it sets that one aside; the third lives."""
    def places_of_start(job):
        ended = job.start(0, steps=1, faults=LIVE).end()
        if ended.code != 3:
            sys.exit(f"the program does not run: {ended}")
        return read_places(job.path / "places0")

    with KilledJob(ranks=2) as job:
        usual = places_of_start(job)
    with KilledJob(ranks=2) as job:
        a_dead_job(job, chance)
        with_older = places_of_start(job)
    rules = rules_beyond(with_older, usual, from_the_end=False)

    def one():
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, chance)
            rule = chance.choice(rules)
            what = f"run of the same key killed at {rule}"
            first = job.as_generation("first")
            second = job.start(0, faults=rule).end()
            in_second = job.as_generation("second")
            if second.code == 3:
                return False
            check(table, job, what, second.code == -signal.SIGKILL, f"the second: {second}")
            # The second had rank zero alone: who comes as another rank cannot know that its run is dead.
            job.wait_for_ring_of(job.start(0))
            job.start(1)
            ended = job.end()
            third = job.as_generation("third")
            check(table, job, what, all(process.code == 3 for process in ended), f"the third: {ended}")
            age_folders(job)
            result = job.tool("recover", "--all")
            check(table, job, what, result.code == 0 and result.err == "", f"recover: {result}")
            check(table, job, what, job.left_in_memory() == [], f"left in memory: {job.left_in_memory()}")
            for generation, dead in ((first, killed), (in_second, {0}), (third, set())):
                sums = of_generation(table, job, what, generation, dead)
                table.add("while setting an older run aside", kills=int(generation is in_second), **sums)
            return True

    repeat(count, one)


def of_generation(table, job, what, generation, killed):
    """All events of one of several runs of a key, in a node file of its own."""
    pids = set(generation.pids)
    traces = [trace for trace in map(Trace, sorted((job.path / "out").glob("node0*.json")))
              if {about["identity"]["pid"] for about in trace.about} & pids]
    strangers = {about["identity"]["pid"] for trace in traces for about in trace.about} - pids
    check(table, job, what, len(traces) <= 1 and not strangers,
          f"{generation.name}: in {len(traces)} node files, with {len(strangers)} processes of other runs")
    sums = collections.Counter()
    for rank in generation.ranks:
        pairs = Comparison(generation.truth(rank), traces[0] if traces else None, rank, WINDOWS, rank in killed)
        for problem in pairs.problems[:3]:
            check(table, job, what, False, f"{generation.name}: {problem}")
        check(table, job, what, pairs.found == pairs.published,
              f"{generation.name}, rank {rank}: {pairs.found} of {pairs.published}")
        sums.update(published=pairs.published, found=pairs.found)
    return sums


def merge_again(table, count, chance):
    """Local rank zero has merged without a rank that runs on; that one is killed at its end, while it merges again."""
    slow = {"steps": 17, "pause_us": 20_000}

    def start(job, faults=""):
        job.start(0, TRACEAGENT_MERGE_TIMEOUT="50ms")
        job.start(1, faults=faults, TRACEAGENT_MERGE_TIMEOUT="50ms", **slow)
        return job.end()

    with KilledJob(ranks=2) as job:
        for number in range(2):
            job.start(number, faults=LIVE if number else "")
        job.end()
        usual = read_places(job.path / "places1")
    with KilledJob(ranks=2) as job:
        ended = start(job, faults=LIVE)
        if [process.code for process in ended] != [3, 3] or "still runs" not in ended[0].err:
            sys.exit(f"no second merge: {ended}")
        rules = rules_beyond(read_places(job.path / "places1"), usual, from_the_end=True)

    def one():
        rule = chance.choice(rules)
        with KilledJob(ranks=2) as job:
            ended = start(job, faults=rule)
            if ended[1].code == 3:
                return False
            what = f"second merge killed at {rule}"
            check(table, job, what, ended[0].code == 3, f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, "while merging again", {1})
            return True

    repeat(count, one)


def remote(table, count, chance):
    """With output.remote: a rank is killed, mostly where it queues its files, or the uploaders, or both."""
    with KilledJob() as job:
        job.start(faults=LIVE).end()
        usual = read_places(job.path / "places0")
    with RemoteJob() as job:
        job.start(faults=LIVE).end()
        places = job.path / "places0"
        rules = rules_beyond(read_places(places), usual, from_the_end=False)
        rules += [point.rule for point in choose(all_points(places), max(count, len(rules) // 2), chance)]

    def one():
        rule = chance.choice(rules) if chance.random() < 0.8 else ""
        strikes_uploaders = not rule or chance.random() < 0.4
        with RemoteJob(chance.choice((1, 1, 2)), keep=chance.choice((-1, -1, 0))) as job:
            victim, kills = chance.randrange(job.ranks), 0
            counted = chance.choice(({}, true_counters.OPTIONS))
            for number in range(job.ranks):
                job.start(number, faults=rule if number == victim else "", **counted)
            while strikes_uploaders and not all(process.is_over() for process in job.processes.values()):
                time.sleep(chance.random() * 0.03)
                kills += job.kill_uploaders()
            ended = job.end()
            killed = {number for number, process in enumerate(ended) if process.code == -signal.SIGKILL}
            what = f"rank {victim} of {job.ranks} killed at {rule}, and {kills} uploaders, keep {job.keep}"
            check(table, job, what, killed <= {victim}, f"{ended}")
            check(table, job, what, not job.half_files(), f"half a file there: {job.half_files()}")
            recovered(table, job, what)
            if strikes_uploaders and (job.path / "out").exists():
                kills += job.kill_uploaders()
                kills += tool_killed(table, job, what, ["upload", "--resume", "out"], 6, chance)
                check(table, job, what, not job.half_files(), f"half a file there: {job.half_files()}")
            uploaded(table, job, what, killed, kills + len(killed))
            return kills + len(killed)

    repeat(count, one)


def counters(table, count, chance):
    """One rank of one or four, with counters every 10 ms: what was sampled before the kill is there."""
    points = choose(places_of(all_points, **SAMPLED), count * 8, chance)

    def one():
        ranks, rule = chance.choice((1, 4)), points.pop().rule if chance.random() < 0.6 else ""
        with KilledJob(ranks) as job:
            victim, answers = chance.randrange(ranks), Answers(job.path)
            for number in range(ranks):
                job.start(number, faults=rule if number == victim else "", **SAMPLED, **answers.of_rank(number))
            if not rule:
                job.wait_for_ring_of(job.processes[victim])
                time.sleep(chance.random() * 0.2)
                job.processes[victim].kill()
            ended = job.end()
            if ended[victim].code == 3:
                return False
            what = f"rank {victim} of {ranks} killed {rule or 'at any moment'}, with counters"
            others = [process for number, process in enumerate(ended) if number != victim]
            check(table, job, what, all(process.code == 3 for process in others), f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, f"while counters are sampled, {ranks} ranks", {victim})
            for problem in counter_problems(job, answers, victim):
                check(table, job, what, False, problem)
            return True

    repeat(count, one)


def uploaded(table, job, what, killed, kills):
    """All that the remote has is whole, and holds all events; nothing waits any more."""
    last = job.tool("upload", "--resume", "out") if (job.path / "out").exists() else None
    check(table, job, what, last is None or (last.code == 0 and last.err == ""), f"upload: {last}")
    left = list(job.not_arrived())
    check(table, job, what, not left, f"{left}")
    files = sorted(job.there.glob("ep*.json"))
    merged = job.tool("merge", *files, "-o", "all.json") if files else None
    check(table, job, what, not files or (merged.code == 0 and merged.err == ""), f"merge: {merged}")
    sums = compared(table, job, what, "all.json", killed, 1, False)
    table.add("with output.remote", kills=kills, **sums)


def tool_killed(table, job, what, words, count, chance):
    """The tool is killed so often, each time at another call, then let do its work. Its kills."""
    kills, call = 0, 0
    for _ in range(count):
        call += chance.randrange(1, 25)
        action = chance.choice(("kill", "kill_half", "kill_after"))
        ended = job.tool(*words, faults=f"*#{call}={action}")
        kills += ended.code == -signal.SIGKILL
        check(table, job, what, ended.code in (0, -signal.SIGKILL), f"{words}, call {call}: {ended}")
        if ended.code == 0:
            break
    return kills


def recover(table, count, chance):
    def one():
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, chance)
            what = "recover killed"
            kills = tool_killed(table, job, what, ["recover"], 6, chance)
            last = job.tool("recover")
            check(table, job, what, last.code == 0 and last.err == "", f"{last}")
            recovered(table, job, what)
            checked(table, job, what, "traceagent recover", killed, kills)
            return kills

    repeat(count, one)


def merge(table, count, chance):
    def one():
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, chance)
            recovered(table, job, "before the merge")
            files = job.rank_files()
            if not files:
                return 0
            before = [path.read_bytes() for path in files]
            kills = tool_killed(table, job, "merge killed", ["merge", "out", "-o", "by_hand.json", "--force"], 8,
                                chance)
            check(table, job, "merge killed", [path.read_bytes() for path in files] == before, "it changed its inputs")
            checked(table, job, "merge killed", "traceagent merge", killed, kills)
            return kills

    repeat(count, one)


CASES = {case.__name__: case for case in (calls, moments, threads, full, rank, all_ranks, older_run, merge_again, remote,
                                      counters, recover, merge)}


def main():
    need(LIBRARY, "the library")
    need(BUILD / "programs/libfaults.so", "libfaults.so")
    words = dict(zip(ARGUMENTS, [*ARGUMENTS[1:], ""]))
    count, seed = int(words.get("--kills", 12)), int(words.get("--seed", random.randrange(10**6)))
    cases = [case for name, case in CASES.items() if name in ARGUMENTS] or list(CASES.values())
    print(f"seed {seed}", flush=True)
    problems = kills = 0
    for case in cases:
        table, started = Table(), time.monotonic()
        case(table, count, random.Random(seed))
        table.print()
        print(*table.problems[:20], sep="\n")
        print(f"{case.__name__}: {table.kills()} kills, {len(table.problems)} problems, "
              f"{time.monotonic() - started:.1f} s", flush=True)
        problems, kills = problems + len(table.problems), kills + table.kills()
    print(f"{kills} kills, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
