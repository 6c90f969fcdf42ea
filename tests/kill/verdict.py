"""What must hold after a kill: valid files with every event that had been published, and nothing left."""

import collections
import os
import time

import true_counters
from handed_over import HandedOver
from published import ANY_OVERWRITTEN, OLDEST, Comparison, dropped

CHUNK_RECORDS = 1023


def age_folders(job):
    """A folder without any claim is a run's that begins just now, for two seconds."""
    aged((path for path in [job.rings, *job.rings.rglob("*")] if path.is_dir()), 60)


def recovered(table, job, what):
    """`traceagent recover`, and once more: nothing is left then."""
    age_folders(job)
    first = job.tool("recover")
    table.check(what, first.code == 0 and first.err == "", f"recover: {first}")
    again = job.tool("recover")
    table.check(what, again.code == 0 and "no ring of a dead process" in again.out, f"again: {again}")
    left = job.left_in_memory()
    table.check(what, left == [], f"left in memory: {left}")
    table.check(what, job.half_written() == [], f"half-written files are left: {job.half_written()}")
    return first


def aged(paths, age_s):
    for path in paths:
        os.utime(path, (time.time() - age_s, time.time() - age_s), follow_symlinks=False)


def compared(table, job, what, name, killed, threads=1, may_drop=False):
    """All ranks' events in a file; returns the sums of the ranks."""
    trace = job.trace(name)
    sums = collections.Counter()
    if trace is not None:
        problems = [p for p in trace.problems() if p != "the file is not complete" and " dropped " not in p]
        problems += true_counters.lies_in(trace.document, is_simulated=False)
        table.check(what, not problems, f"{name}: {problems[:3]}")
        lacks = any(about.get("recovered") for about in trace.about) or \
            trace.document["traceagent"].get("missing_ranks")
        says = trace.document.get("complete") is True
        table.check(what, says != bool(lacks), f"{name}: complete is {says}, but {lacks}")
    for rank in range(job.ranks):
        records = job.truth(rank)
        pairs = Comparison(records, trace, rank, job.windows, rank in killed, may_drop)
        for problem in pairs.problems[:3]:
            table.check(what, False, f"{name}: {problem}")
        sums.update(published=pairs.published, found=pairs.found)
        more = threads if may_drop else 0
        # Who is killed between counting a chunk and clearing it leaves what he counted.
        more += threads * CHUNK_RECORDS if may_drop in (OLDEST, ANY_OVERWRITTEN) else 0
        for first, (published, found) in pairs.windows.items():
            lost = 0 if trace is None else dropped(trace, rank, "ring_full", "overwritten", first=first)
            table.check(what, 0 <= found + lost - published <= more, f"{name}: rank {rank}: window of step {first}: "
                                                                     f"{found} found and {lost} lost of {published}")
        works = HandedOver(records, trace, rank, job.windows, in_flight=threads if rank in killed else 0)
        sums.update(delivered=works.delivered, shown=works.shown)
        for problem in works.problems[:3]:
            table.check(what, False, f"{name}: rank {rank}: {problem}: {device_facts(trace, rank)}")
    return sums


def device_facts(trace, rank):
    return [] if trace is None else [(about["window"], about.get("device"), about["dropped"], about.get("recovered"))
                                     for about in trace.about if about["identity"]["rank"] == rank]


def checked(table, job, what, point, killed, kills=1, threads=1, may_drop=False, by_hand=""):
    """The node's file, and one that `traceagent merge` makes of the ranks' files, or has made."""
    sums = compared(table, job, what, job.node_file, killed, threads, may_drop)
    table.add(point, kills=kills, **sums)
    if job.rank_files():
        merged = None if by_hand else job.tool("merge", "out", "-o", "all.json")
        table.check(what, by_hand or (merged.code == 0 and merged.err == ""), f"merge: {merged}")
        again = compared(table, job, what, by_hand or "all.json", killed, threads, may_drop)
        table.check(what, again == sums, f"merge by hand has {again}, the node's file {sums}")
