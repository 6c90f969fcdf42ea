"""What is wrong with the others' mergers, each with what ours makes of the same files: (what, theirs, ours)."""
import ast
import collections
import gzip
import itertools
import json
import pathlib
import re
import subprocess

from mergers import HERE, START_US, Mergers, is_sorted, metadata, slices, write


def drifting(rank, fast_ppm):
    """A hundred seconds of collectives, as a clock that is `fast_ppm` fast has seen them."""
    for i in range(1000):
        begin_us, end_us = i * 100_000 + (i * 7919 + rank * 31) % 40, i * 100_000 + 80
        begin_us, end_us = (at * (1 + fast_ppm * 1e-6) for at in (begin_us, end_us))
        yield {"name": "ncclDevKernel_AllReduce", "cat": "kernel", "ph": "X", "ts": round(START_US + begin_us, 3),
               "dur": round(end_us - begin_us, 3), "pid": rank, "tid": 7,
               "args": {"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                        "Group size": 2, "In msg nelems": 1024, "Seq": i}}


def farthest_ends_us(merge):
    """Both ranks of a collective end at once: how far they are apart at most."""
    ends = collections.defaultdict(list)
    for at, _, _, duration, args, _ in merge.events():
        ends[json.loads(args)["Seq"]].append(at + duration)
    return max(max(each) - min(each) for each in ends.values()) / 1000


def reads_per_byte(merge, small, large):
    """Bytes that it reads for each more that a file has."""
    def read(path):
        return int(re.search(r"rchar: (\d+)", merge(path).said)[1])
    return (read(large) - read(small)) / (large.stat().st_size - small.stat().st_size)


def of_its_handler(mergers):
    """(the default of the merged file's name, whether it writes anything but at the end of a batch, whether it knows a
    lock)"""
    said = subprocess.run([mergers.python, HERE / "theirs.py", "composer_source"], capture_output=True, text=True,
                          check=True, timeout=60).stdout.strip()
    handler = next(node for node in ast.parse(pathlib.Path(said).read_text()).body if isinstance(node, ast.ClassDef))
    methods = {node.name: node for node in handler.body if isinstance(node, ast.FunctionDef)}
    arguments = methods["__init__"].args
    names = [argument.arg for argument in arguments.args][-len(arguments.defaults):]
    said = {node.attr for node in ast.walk(handler) if isinstance(node, ast.Attribute)}
    return ast.literal_eval(arguments.defaults[names.index("merged_trace_filename")]), \
        bool({"close", "post_close", "fit_end"} & set(methods)), any("lock" in name for name in said)


def composer_costs(mergers, folder):
    """What is wrong with how it works, and with its trace handler."""
    small, large = (write(folder / str(count), 0, itertools.chain(metadata(0), slices(0, count))) for count in (10_000, 100_000))
    in_a_shell = Mergers(mergers.tool.parents[1], mergers.python, mergers.folder, tells_io=True)
    yield "a file is read so many times", *(f"{reads_per_byte(merge, small, large):.1f}"
                                            for merge in (in_a_shell.composer, in_a_shell.ours))
    yield "memory for ten times the events", *(
        f"from at most {merge(small).peak_mb:.0f} to {merge(large).peak_mb:.0f} MB" for merge in (mergers.composer, mergers.ours))
    files = [write(folder / "drift", rank, metadata(rank) + list(drifting(rank, 50 * rank))) for rank in range(2)]
    yield "clocks that are 50 ppm apart, after 100 s", *(
        f"{farthest_ends_us(merge):.1f} us off" for merge in (
            mergers.composer(*files), mergers.ours(*files, options=["--align", "collectives"])))
    name, writes_at_the_end, locks = of_its_handler(mergers)
    own = subprocess.run([mergers.tool, "options"], capture_output=True, text=True, check=True, timeout=60).stdout
    yield "the merged file's name on each node", name, re.search(r"output\.merged .*default (\S+)", own)[1]
    yield "a run that ends within a window", "written" if writes_at_the_end else "nothing is written", \
        "not asked here: tests/process/calls_test.py"
    yield "files that keep removes while they are merged", "locked" if locks else "no lock", \
        "not asked here: tests/upload/keep_test.py"


def composer_defects(mergers, folder):
    whole = [metadata(rank) + list(slices(rank, 100)) for rank in range(2)]

    def outcome(merge):
        events = merge.events()
        return f"fails: {merge.failure()}" if events is None or not merge.ok else f"{len(events)} events"

    for what, ends in (("a trailing comma, no `]`", ","), ("half an event at the end", ',\n{"name": "half')):
        files = [write(folder / ends[:1].replace(",", "c"), rank, whole[rank], ends) for rank in range(2)]
        yield what, outcome(mergers.composer(*files)), f"{len(mergers.ours(*files).events())} events"
    files = [write(folder, rank, whole[rank]) for rank in range(2)]
    zipped = [path.with_suffix(".json.gz") for path in files]
    for path, target in zip(files, zipped):
        target.write_bytes(gzip.compress(path.read_bytes()))
    yield "gzip", outcome(mergers.composer(*zipped)), f"{len(mergers.ours(*zipped).events())} events"
    theirs, ours = mergers.composer(*files), mergers.ours(*files)
    yield "order of the output", "sorted" if is_sorted(theirs.events()) else "not sorted", \
        "sorted" if is_sorted(ours.events()) else "not sorted"
    yield "the error bound of the clocks", "dropped" if "right within" not in theirs.said else "stated", \
        "stated" if "right within" in ours.said else "dropped"
    merged = folder / "merged.json"
    theirs.output.rename(merged)
    # A second later: the same events once more would be left out as those that the merged file holds.
    later = [metadata(rank) + [event | {"ts": event["ts"] + 1_000_000} for event in slices(rank, 100)] for rank in range(2)]
    again = [write(folder / "again", rank, later[rank]) for rank in range(2)]
    theirs, ours = mergers.composer(merged, *again), mergers.ours(merged, *again)
    def ranks(merge):
        return dict(sorted(collections.Counter(event[5] % 1_000_000 for event in merge.events()).items()))
    yield "a merged file and a second cycle: events by rank", f"{ranks(theirs)}", f"{ranks(ours)}"
    # Rank 1's clock gains 50 ppm; the cycles are 100 s apart.
    cycles = sorted((HERE.parents[1] / "golden/merge/composer_cycles").glob("ep0-*.json"))
    theirs, ours = mergers.composer(*cycles), mergers.ours(*cycles)
    def rank_1_off(merge):
        of_rank = [[event[0] for event in sorted(merge.events()) if event[1] in "BE" and event[5] % 1_000_000 == rank]
                   for rank in range(2)]
        return f"{max(abs(a - b) for a, b in zip(*of_rank)) / 1000:.1f} us off"
    yield "two cycles 100 s apart, clocks that are 50 ppm apart", rank_1_off(theirs), rank_1_off(ours)
    kineto = folder / "kineto_rank1.json"
    document = {"global_rank": 1, "clock_sync_timestamp_us": START_US, "distributedInfo": {"rank": 1, "world_size": 2},
                "baseTimeNanoseconds": 1_500_000_000 * 10**9,
                "traceEvents": [{"ph": "X", "name": "op", "cat": "cpu_op", "pid": 4, "tid": 4, "dur": 1,
                                 "ts": START_US - 1_500_000_000 * 10**6 + 0.125}]}
    kineto.write_text(json.dumps(document))
    theirs, ours = mergers.composer(files[0], kineto), mergers.ours(files[0], kineto)
    def off_by(merge):
        at = min(event[0] for event in merge.events() if event[2] == "op")
        return f"{abs(at - START_US * 1000 - 125) / 1e9 / 86400 / 365.25:.1f} years off"
    yield "PyTorch's file with baseTimeNanoseconds", off_by(theirs), off_by(ours)


def smdebug_defects(mergers, folder):
    def event(phase, at, tid=71, **more):
        return {"name": f"{phase}{tid}", "ph": phase, "ts": START_US + at, "pid": 0, "tid": tid, **more}

    head = metadata(0)
    others = head + [event("X", 0, dur=5), event("C", 1, args={"a": 1}), event("i", 2, s="t"), event("s", 3, id=1),
                     event("f", 4, id=1, bp="e"), event("b", 5, id=2, cat="x"), event("e", 6, id=2, cat="x")]
    def phases(merge):
        return "".join(sorted(event[1] for event in merge.events() or []))
    files = [write(folder / "phases", 0, others)]
    yield "phases kept of X C i s f b e", phases(mergers.smdebug(folder / "phases")), phases(mergers.ours(*files))
    nested = head + [event("B", 0, 1), event("B", 10, 2), event("E", 20, 1), event("E", 50, 2)]
    files = [write(folder / "threads", 0, nested)]
    theirs = {e[2]: e[3] // 1000 for e in mergers.smdebug(folder / "threads").events()}
    begun = {}
    for at, phase, name, *_ in mergers.ours(*files).events():
        begun[name[1:]] = at - begun.get(name[1:], 0) if phase == "E" else at
    yield "two threads' B and E that interleave (20 and 40 us)", f"{theirs}", f"{ {k: v // 1000 for k, v in begun.items()} }"
    files = [write(folder / "cut", 0, head + list(slices(0, 100)), ',\n{"name": "half')]
    yield "a file cut within an event: events kept of 100", len(mergers.smdebug(folder / "cut").events() or []), \
        len(mergers.ours(*files).events())
    (folder / "empty").mkdir()
    write(folder / "empty", 0, head + list(slices(0, 100)))
    theirs = mergers.smdebug(folder / "empty", START_US - 10**9, START_US - 10**8)
    size = theirs.output.stat().st_size if theirs.output.exists() else "no file"
    ours = mergers.ours(*files, options=["--time", START_US - 10**9, START_US - 10**8])
    is_told = not ours.ok and "no events: " in ours.said
    yield "a window without events", f"{size} bytes", "told, nothing is written" if is_told else ours.failure()
