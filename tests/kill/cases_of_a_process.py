"""One process is killed, and recovered by hand."""

import re
import signal
import time

from fault_places import Names, read_places
from killed_job import LIVE, WINDOWS, KilledJob, places_of
from places import BUILD, LIBRARY, need
from points import PHASES, REST, all_points, choose, rules_beyond
from published import ANY_OVERWRITTEN, OLDEST, Windows
from verdict import checked, recovered

FLIGHT = Windows(wait=1, warmup=1, active=1000, repeat=1)
GAPLESS = Windows(wait=0, warmup=0, active=2, repeat=100)
HOST_ALONE = {"TRACEAGENT_DOORS_CUPTI": "false", "TRACEAGENT_COUNTERS_SOURCES": "none"}


def killed_at(table, point, zipped=False, **how):
    with KilledJob(zipped=zipped) as job:
        ended = job.start(faults=point.rule, **how).end()
        if ended.code == 3:
            return False  # it did not come to that call
        what = f"killed {point}"
        table.check(what, ended.code == -signal.SIGKILL, f"the job: {ended}")
        recovered(table, job, what)
        checked(table, job, what, point.name if not job.is_zipped else "at calls, gzip", {0})
        return True


def at_calls(table, plan, phases, **how):
    """Of each of these phases of the agent's work in a process some calls, or all of them."""
    points = places_of(lambda path: all_points(path, Names(LIBRARY)), **how)
    points = [point for point in points if point.phase in phases]
    for phase in phases:
        there = [point for point in points if point.phase == phase]
        table.exist(phase, there)
        table.check("points", there, f"none in {phase}: who does that now?")
    done = 0
    for point in points if plan.is_whole else choose(points, plan.count * 2, plan.chance):
        is_struck = any(killed_at(table, point, **how) for _ in range(3 if plan.is_whole else 1))
        if is_struck:
            table.strike(point.phase, point)
        done += is_struck
        if done == plan.count and not plan.is_whole:
            break


def calls(table, plan):
    at_calls(table, plan, [*PHASES, REST])


def gzip(table, plan):
    """Where files are compressed: the calls that work on files."""
    at_calls(table, plan, [phase for phase in PHASES if re.search("file|rename|merge|ring", phase)], zipped=True)


def killed_at_moment(table, chance, point, longest_s, may_drop=False, windows=WINDOWS, **how):
    with KilledJob(windows=windows) as job:
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


def life_s(windows=WINDOWS, may_drop=False, **how):
    """Of such a run from its ring on, on this machine as busy as it is."""
    del may_drop
    with KilledJob(windows=windows) as job:
        process = job.start(**how)
        job.wait_for_ring()
        began = time.monotonic()
        process.end()
        return time.monotonic() - began


def killed_in_life(table, plan, point, **how):
    longest_s = life_s(**how)
    plan.repeat(lambda: killed_at_moment(table, plan.chance, point, longest_s, **how))


def moments(table, plan):
    killed_in_life(table, plan, "at any moment")


def coarse_clock(table, plan):
    """Young, by a clock that is read coarsely: which work is whose is told by the times of two clocks, CUPTI's and the
    ticks of a processor whose rate was measured for milliseconds."""
    clock = need(BUILD / "transparency/libraries/libcoarse_clock.so", "the clock that is read coarsely")
    plan.repeat(lambda: killed_at_moment(table, plan.chance, "young, coarse clock", longest_s=0.03,
                                         LD_PRELOAD=f"{LIBRARY} {clock}"))


def threads(table, plan):
    killed_in_life(table, plan, "at any moment, 4 threads, no pause", steps=40, calls=40, pause_us=0, threads=4,
                   TRACEAGENT_RING_SIZE="16MiB")


def full(table, plan):
    """A ring that is too small: what is not there is counted."""
    killed_in_life(table, plan, "at any moment, ring full", may_drop=True, steps=40, calls=300, pause_us=0, threads=2,
                   TRACEAGENT_RING_SIZE="1MiB")


def overwrite(table, plan):
    """A flight recorder: one window until the kill, of which the oldest calls are overwritten and counted, and the
    newest are there. Calls alone: what is overwritten is counted whatever it is."""
    killed_in_life(table, plan, "at any moment, oldest overwritten", may_drop=OLDEST, windows=FLIGHT, steps=16,
                   calls=1000, pause_us=0, threads=2, TRACEAGENT_RING_SIZE="1MiB", TRACEAGENT_RING_FULL="overwrite",
                   **HOST_ALONE)


def overwrite_gapless(table, plan):
    """Windows that follow each other without a gap in a ring for less than one: of each it is counted what was
    overwritten of it, by its process or by who recovers it."""
    killed_in_life(table, plan, "at any moment, gapless, overwritten", may_drop=ANY_OVERWRITTEN, windows=GAPLESS,
                   steps=16, calls=3000, pause_us=0, threads=2, TRACEAGENT_RING_SIZE="1MiB",
                   TRACEAGENT_RING_FULL="overwrite", **HOST_ALONE)


def terminated(job, delay_s=0.0, faults=LIVE):
    """In a window, since its tenth step; returns the process and the places of its calls until then."""
    process = job.start(faults=faults, steps=1000, TRACEAGENT_SIGNALS="TERM")
    process.wait_until_said("step 10")
    time.sleep(delay_s)
    before = read_places(job.path / "places0")
    process.send(signal.SIGTERM)
    return process, before


def signals(table, plan):
    """A job that writes its files since it got SIGTERM is killed meanwhile: at calls of that work, or a moment
    later."""
    with KilledJob(windows=FLIGHT) as job:
        process, before = terminated(job)
        table.check("signals", process.end().code == -signal.SIGTERM, f"{process}")
        rules = rules_beyond(read_places(job.path / "places0"), before, from_the_end=True)

    def one(rule=""):
        with KilledJob(windows=FLIGHT) as job:
            process, _ = terminated(job, 0 if rule else plan.chance.random() * 0.02, rule or LIVE)
            if not rule:
                time.sleep(plan.chance.random() * 0.02)
                process.kill()
            ended = process.end()
            what = f"terminated, then killed {rule or 'a moment later'}"
            table.check(what, ended.code in (-signal.SIGKILL, -signal.SIGTERM), f"{ended}")
            recovered(table, job, what)
            kills = int(ended.code == -signal.SIGKILL)
            checked(table, job, what, "while it writes since SIGTERM" if kills else "by SIGTERM alone", {0}, kills)
            return kills

    plan.at_each(table, "the hand-over at SIGTERM", rules, one)
    plan.repeat(one)
