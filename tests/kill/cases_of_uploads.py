"""Jobs whose files are uploaded: a rank is killed, or those who upload, or both."""

import signal
import time

import true_counters
from cases_of_tools import tool_killed
from fault_places import Names, read_places
from killed_job import LIVE, KilledJob
from places import LIBRARY
from points import all_points, choose, rules_beyond
from remote import RemoteJob
from verdict import compared, recovered


def remote(table, plan):
    """With output.remote: mostly where the rank queues its files."""
    chance = plan.chance
    with KilledJob() as job:
        job.start(faults=LIVE).end()
        usual = read_places(job.path / "places0")
    with RemoteJob() as job:
        job.start(faults=LIVE).end()
        places = job.path / "places0"
        queueing = rules_beyond(read_places(places), usual, from_the_end=False)
        others = choose(all_points(places, Names(LIBRARY)), max(plan.count, len(queueing) // 2), chance)

    def one(rule=""):
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
            table.check(what, killed <= {victim}, f"{ended}")
            table.check(what, not job.half_files(), f"half a file there: {job.half_files()}")
            recovered(table, job, what)
            if strikes_uploaders and (job.path / "out").exists():
                kills += job.kill_uploaders()
                kills += tool_killed(table, job, what, ["upload", "--resume", "out"], 6, chance)
                table.check(what, not job.half_files(), f"half a file there: {job.half_files()}")
            uploaded(table, job, what, killed, kills + len(killed))
            if rule in queueing and killed:
                table.strike(QUEUEING, rule)
            return kills + len(killed)

    table.exist(QUEUEING, queueing)
    for rule in queueing if plan.is_whole else []:
        one(rule)
    rules = queueing + [point.rule for point in others]
    plan.repeat(lambda: one(chance.choice(rules) if chance.random() < 0.8 else ""))


QUEUEING = "queueing uploads"


def uploaded(table, job, what, killed, kills):
    """All that the remote has is whole, and holds all events; nothing waits any more."""
    last = job.tool("upload", "--resume", "out") if (job.path / "out").exists() else None
    table.check(what, last is None or (last.code == 0 and last.err == ""), f"upload: {last}")
    left = list(job.not_arrived())
    table.check(what, not left, f"{left}")
    files = sorted(job.there.glob("ep*.json"))
    merged = job.tool("merge", *files, "-o", "all.json") if files else None
    table.check(what, not files or (merged.code == 0 and merged.err == ""), f"merge: {merged}")
    sums = compared(table, job, what, "all.json", killed)
    table.add("with output.remote", kills=kills, **sums)
