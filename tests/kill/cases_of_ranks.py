"""One or all ranks of a job are killed; the others go on, or another run comes, or a keeper is there."""

import collections
import os
import signal
import sys
import time

import true_counters
from fault_places import Names, count_of_calls, read_places
from jobs import processes_naming
from killed_job import LIMIT_S, LIVE, WINDOWS, KilledJob, a_dead_job, places_of
from places import LIBRARY
from points import all_points, choose, rules_beyond, rules_of_tool
from published import Comparison
from sampled import Answers, counter_problems
from trace_file import Trace
from verdict import age_folders, checked, recovered

SAMPLED = {"pause_us": 10_000, **true_counters.OPTIONS}


def points_of(count, chance, **how):
    return choose(places_of(lambda path: all_points(path, Names(LIBRARY)), **how), count, chance)


def rank(table, plan):
    """One of four, zero as often as the others, while they go on; then nobody needs `recover`."""
    points = points_of(plan.count * 8, plan.chance)

    def one():
        victim, point = plan.chance.choice((0, 0, 1, 3)), plan.chance.choice(points)
        with KilledJob(ranks=4) as job:
            for number in range(4):
                job.start(number, faults=point.rule if number == victim else "")
            ended = job.end()
            if ended[victim].code == 3:
                return False
            what = f"rank {victim} of 4 killed {point}"
            others = [process for number, process in enumerate(ended) if number != victim]
            table.check(what, all(process.code == 3 for process in others), f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, f"rank {'zero' if victim == 0 else 'other'} of 4", {victim})
            return True

    plan.repeat(one)


def all_ranks(table, plan):
    def one():
        with KilledJob(ranks=4) as job:
            for number in range(4):
                job.start(number)
            job.wait_for_ring()
            time.sleep(plan.chance.random() * 0.12)
            killed = job.kill_all()
            if not killed:
                return False
            what = f"ranks {killed} of 4 killed"
            recovered(table, job, what)
            checked(table, job, what, "all ranks of 4", killed)
            return True

    plan.repeat(one)


def older_run(table, plan):
    """A run of the key of one that was killed is killed too, while it sets that one aside; the third lives."""
    def places_of_start(job):
        ended = job.start(0, steps=1, faults=LIVE).end()
        if ended.code != 3:
            sys.exit(f"the program does not run: {ended}")
        return read_places(job.path / "places0")

    with KilledJob(ranks=2) as job:
        usual = places_of_start(job)
    with KilledJob(ranks=2) as job:
        a_dead_job(job, plan.chance)
        rules = rules_beyond(places_of_start(job), usual, from_the_end=False)

    def one(rule):
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, plan.chance)
            what = f"run of the same key killed at {rule}"
            first = job.as_generation("first")
            second = job.start(0, faults=rule).end()
            in_second = job.as_generation("second")
            if second.code == 3:
                return False
            table.check(what, second.code == -signal.SIGKILL, f"the second: {second}")
            # The second had rank zero alone: who comes as another rank cannot know that its run is dead.
            job.wait_for_ring_of(job.start(0))
            job.start(1)
            ended = job.end()
            third = job.as_generation("third")
            table.check(what, all(process.code == 3 for process in ended), f"the third: {ended}")
            age_folders(job)
            result = job.tool("recover", "--all")
            table.check(what, result.code == 0 and result.err == "", f"recover: {result}")
            table.check(what, job.left_in_memory() == [], f"left in memory: {job.left_in_memory()}")
            for generation, dead in ((first, killed), (in_second, {0}), (third, set())):
                sums = of_generation(table, job, what, generation, dead)
                table.add("while setting an older run aside", kills=int(generation is in_second), **sums)
            return True

    plan.at_each(table, "setting an older run aside", rules, one)


def of_generation(table, job, what, generation, killed):
    """All events of one of several runs of a key, in a node file of its own."""
    pids = set(generation.pids)
    traces = [trace for trace in map(Trace, sorted((job.path / "out").glob("node0*.json")))
              if {about["identity"]["pid"] for about in trace.about} & pids]
    strangers = {about["identity"]["pid"] for trace in traces for about in trace.about} - pids
    table.check(what, len(traces) <= 1 and not strangers,
                f"{generation.name}: in {len(traces)} node files, with {len(strangers)} processes of other runs")
    sums = collections.Counter()
    for number in generation.ranks:
        pairs = Comparison(generation.truth(number), traces[0] if traces else None, number, WINDOWS, number in killed)
        for problem in pairs.problems[:3]:
            table.check(what, False, f"{generation.name}: {problem}")
        table.check(what, pairs.found == pairs.published,
                    f"{generation.name}, rank {number}: {pairs.found} of {pairs.published}")
        sums.update(published=pairs.published, found=pairs.found)
    return sums


def merge_again(table, plan):
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

    def one(rule):
        with KilledJob(ranks=2) as job:
            ended = start(job, faults=rule)
            if ended[1].code == 3:
                return False
            what = f"second merge killed at {rule}"
            table.check(what, ended[0].code == 3, f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, "while merging again", {1})
            return True

    plan.at_each(table, "merging again", rules, one)


def counters(table, plan):
    """One rank of one or four, with counters every 10 ms: what was sampled before the kill is there."""
    points, chance = points_of(plan.count * 8, plan.chance, **SAMPLED), plan.chance

    def one():
        ranks, rule = chance.choice((1, 4)), chance.choice(points).rule if chance.random() < 0.6 else ""
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
            table.check(what, all(process.code == 3 for process in others), f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, f"while counters are sampled, {ranks} ranks", {victim})
            for problem in counter_problems(job, answers, victim):
                table.check(what, False, problem)
            return True

    plan.repeat(one)


def keepers(job):
    return processes_naming(job.rings)


def kill_keepers(job):
    killed = 0
    for pid in keepers(job):
        try:
            os.kill(pid, signal.SIGKILL)
            job.killed_tools.add(pid)
            killed += 1
        except ProcessLookupError:
            pass
    return killed


def end_of_keepers(job):
    deadline = time.monotonic() + LIMIT_S
    while keepers(job) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not keepers(job)


def keeper(table, plan):
    """All ranks are killed, and their keeper while it does its work, or before it has any."""
    chance = plan.chance

    def one():
        with KilledJob(ranks=2) as job:
            is_early = chance.random() < 0.2
            killed = a_dead_job(job, chance, before=lambda: is_early and kill_keepers(job), TRACEAGENT_KEEPER="true")
            time.sleep(chance.random() * 0.03)
            kills = kill_keepers(job) if chance.random() < 0.8 else 0
            what = f"ranks {killed} of 2 killed, and {kills} keepers"
            table.check(what, end_of_keepers(job), f"the keeper does not end: {kill_keepers(job)}")
            if not kills and not is_early:
                left = [name for name in job.left_in_memory() if name.endswith(".ring")]
                table.check(what, not left, f"the keeper leaves {left}")
            recovered(table, job, what)
            checked(table, job, what, "all ranks, and their keeper" if kills else "all ranks, with a keeper", killed,
                    kills + len(killed))
            return kills + len(killed)

    plan.repeat(one)
    at_its_calls(table, plan)


def at_its_calls(table, plan):
    """The agent starts a keeper without what is preloaded: this one is started by hand on the same folder."""
    def wait_for(job, faults):
        folder = next(job.rings.rglob("*.ring")).parent
        return job.tool("recover", "--wait", "--log", "out/keeper-node0.log", folder, faults=faults)

    with KilledJob(ranks=2) as job:
        a_dead_job(job, plan.chance)
        ended = wait_for(job, LIVE)
        table.check("keeper", ended.code == 0 and job.left_in_memory() == [], f"{ended}: {job.left_in_memory()}")
        rules = rules_of_tool(count_of_calls(job.last_tools_places()))

    def one(rule):
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, plan.chance)
            ended = wait_for(job, rule)
            what = f"a keeper killed at {rule}"
            kills = int(ended.code == -signal.SIGKILL)
            table.check(what, kills or ended.code == 0, f"{ended}")
            recovered(table, job, what)
            checked(table, job, what, "a keeper, at its calls", killed, kills)
            return kills

    plan.at_each(table, "the keeper", rules, one)
