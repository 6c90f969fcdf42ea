"""The tools are killed while they recover and merge what a dead job has left; then they are let do their work."""

import functools
import signal

from fault_places import count_of_calls
from killed_job import LIVE, KilledJob, a_dead_job
from points import rules_of_tool
from verdict import aged, checked, recovered


def tool_killed(table, job, what, words, count, chance):
    """So often, each time at another call. Its kills."""
    kills, call = 0, 0
    for _ in range(count):
        call += chance.randrange(1, 150)
        action = chance.choice(("kill", "kill_half", "kill_after"))
        ended = job.tool(*words, faults=f"*#{call}={action}")
        kills += ended.code == -signal.SIGKILL
        table.check(what, ended.code in (0, -signal.SIGKILL), f"{words}, call {call}: {ended}")
        if ended.code == 0:
            break
    return kills


def calls_of(table, job, words):
    ended = job.tool(*words, faults=LIVE)
    table.check(f"{words}", ended.code == 0, f"{ended}")
    return count_of_calls(job.last_tools_places())


def finish(table, job, what, words):
    last = job.tool(*words)
    table.check(what, last.code == 0 and last.err == "", f"{last}")


def recover(table, plan):
    """Several times over on the same job; in the whole form once at each of its calls too."""
    what, words = "recover killed", ["recover"]

    def one(rule=""):
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, plan.chance)
            if rule:
                kills = int(job.tool(*words, faults=rule).code == -signal.SIGKILL)
            else:
                kills = tool_killed(table, job, what, words, 6, plan.chance)
            finish(table, job, what, words)
            recovered(table, job, what)
            checked(table, job, what, "traceagent recover", killed, kills)
            return kills

    if plan.is_whole:
        with KilledJob(ranks=2) as job:
            a_dead_job(job, plan.chance)
            rules = rules_of_tool(calls_of(table, job, words))
        plan.at_each(table, "traceagent recover", rules, one)
    plan.repeat(one)


def merged_to(name, table, plan):
    what, words = "merge killed", ["merge", "out", "-o", name, "--force"]

    def one(rules=()):
        """Returns the rules that killed it; without rules the number of kills."""
        with KilledJob(ranks=2) as job:
            killed = a_dead_job(job, plan.chance)
            recovered(table, job, "before the merge")
            files = job.rank_files()
            if not files:
                return [] if rules else 0
            before = [path.read_bytes() for path in files]
            struck = [rule for rule in rules if job.tool(*words, faults=rule).code == -signal.SIGKILL]
            kills = len(struck) if rules else tool_killed(table, job, what, words, 8, plan.chance)
            table.check(what, [path.read_bytes() for path in files] == before, "it changed its inputs")
            aged(job.path.glob(".*"), 2 * 24 * 3600)
            finish(table, job, what, words)
            hidden = [path.name for path in job.path.glob(".*")]
            table.check(what, not hidden, f"half-written files are left after two days: {hidden}")
            checked(table, job, what, f"traceagent merge to {name}", killed, kills, by_hand=name)
            return struck if rules else kills

    plan.repeat(one)
    if plan.is_whole:
        at_each_call(table, plan, f"traceagent merge to {name}", words, one)


def at_each_call(table, plan, phase, words, one):
    """Many of them on one job: who is killed leaves the inputs as they were."""
    with KilledJob(ranks=2) as job:
        while not job.rank_files():
            job.processes = {}
            a_dead_job(job, plan.chance)
            recovered(table, job, "before the merge")
        rules = rules_of_tool(calls_of(table, job, words))
    table.exist(phase, rules)
    for first in range(0, len(rules), 20):
        for rule in one(rules[first:first + 20]):
            table.strike(phase, rule)


merge = functools.partial(merged_to, "by_hand.json")
merge_gzip = functools.partial(merged_to, "by_hand.json.gz")
