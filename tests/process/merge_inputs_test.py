#!/usr/bin/env python3
"""Which files `traceagent merge` takes and gives: folders, suffixes, nodes, an output that is an input;
and what it shows on a terminal."""
import faulthandler
import gzip
import json
import os
import re
import pathlib
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from merge_model import File
from places import BUILD, SOURCE, need

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
BASE = 1_700_000_000_000_000_000
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def merge(*words, code=0, cwd=None):
    result = subprocess.run([str(word) for word in (TRACEAGENT, "merge", *words)], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=60, cwd=cwd)
    check(result.returncode == code, f"merge {words}: {result}")
    return result


def rank_file(path, rank, node=0, times=(0,), base=BASE, compress=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [{"ts": ts, "dur": 10, "ph": "X", "cat": "c", "name": f"e{ts}", "pid": rank, "tid": 1, "args": {}}
              for ts in times]
    return File(path, rank, base, events, node).write(compress)


def document_of(path):
    text = path.read_bytes()
    return json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)


def ranks_in(path):
    return document_of(path)["distributedInfo"].get("ranks")


def test_folders(folder):
    rank_file(folder / "a/r0.json", 0)
    rank_file(folder / "a/r1.trace.json.gz", 1, compress=gzip.compress)
    rank_file(folder / "a/.hidden/r6.json", 6)
    rank_file(folder / "a/more/r2.json", 2)
    rank_file(folder / "a/more/deep/r3.trace.json", 3)
    rank_file(folder / "a/more/deep/r4.txt", 4)
    (folder / "a/more/round").symlink_to(folder / "a")
    out = folder / "out.json"
    for words, ranks in (([], [0, 1]), (["-r"], [0, 1, 2, 3]), (["-r", "--suffix", ".trace.json"], [3]),
                         (["-r", "--suffix", ".trace.json,.txt,trace.json.gz"], [1, 3, 4]),
                         (["--suffix", "r0.json", "--suffix", ".gz"], [0, 1]), (["--suffix", "r0.json, .gz"], [0, 1])):
        merge(folder / "a", "-o", out, "--force", *words)
        check(ranks_in(out) == ranks, f"{words}: {ranks_in(out)}")
    result = merge(folder / "a", "--suffix", ".nothing", "-o", out, "--force", code=1)
    check("*.nothing" in result.stderr and "--recursive" in result.stderr, result.stderr)


def test_nodes(folder):
    for rank in range(4):
        rank_file(folder / f"n/r{rank}.json", rank, node=rank // 2, times=(rank, 100))
    for words, names in ((["-o", folder / "by"], ["by/node0.json", "by/node1.json"]),
                         (["-o", folder / "by", "--gzip"], ["by/node0.json.gz", "by/node1.json.gz"]),
                         (["-o", folder / "m{node_rank:02d}.json"], ["m00.json", "m01.json"])):
        merge(folder / "n", "--per-node", *words)
        check([ranks_in(folder / name) for name in names] == [[0, 1], [2, 3]], f"{names}")
    both = merge(folder / "n", "--per-node", "-o", folder / "by", code=1)
    check(both.stderr.count("--force") == 2, f"existing files of both nodes: {both.stderr}")
    said = merge(folder / "n", "--per-node", "--rank", "1", "-o", folder / "asked").stdout
    check(ranks_in(folder / "asked/node0.json") == [1] and not (folder / "asked/node1.json").exists(), "one node's")
    check("node1.json: no file has a rank that was asked for" in said, f"the other: {said}")
    said = merge(folder / "n", "--per-node", "--rank", "7", "-o", folder / "none", code=1).stderr
    check(said.count("no file has a rank that was asked for") == 2, f"nobody's: {said}")
    merge(folder / "n", "-o", folder / "all.json")
    check(document_of(folder / "all.json")["distributedInfo"]["node_ranks"] == [0, 1], "nodes of all")
    check("several nodes" in merge(folder / "all.json", "--per-node", "-o", folder / "by", code=1).stderr, "of all")
    for name in ("one.json", "{node_rank}/x.json", "{run_name}-{node_rank}.json", "{node_rank}{epoch}.json"):
        merge(folder / "n", "--per-node", "-o", folder / name, code=2)


def test_strict_asks_for_what_is_taken(folder):
    """A cut copy whose events another input holds is left out, one file or one for each node."""
    for rank in range(2):
        rank_file(folder / f"r{rank}.json", rank, times=(rank, 100))
    merge(folder / "r0.json", folder / "r1.json", "-o", folder / "node.json")
    whole = (folder / "r0.json").read_bytes()
    (folder / "r0.json").write_bytes(whole[:-150])
    inputs = [folder / name for name in ("r0.json", "r1.json", "node.json")]
    for words in (["-o", folder / "all.json"], ["--per-node", "-o", folder / "by"]):
        said = merge(*inputs, "--strict", *words)
        check("r0.json: it is cut or damaged, and whole files" in said.stdout, f"{words}: {said}")
    merge(*inputs[:2], "--strict", "--per-node", "-o", folder / "by2", code=1)


def test_saved_again(folder):
    """By another program: each event keeps its rank and time, and is taken once beside the original."""
    for rank in range(3):
        rank_file(folder / f"s/r{rank}.json", rank, times=(rank, 100), base=BASE + 1000 * rank)
    out, node = folder / "out.json", folder / "node.json"
    merge(folder / "s/r0.json", folder / "s/r1.json", "-o", node)
    for number, how in enumerate(({}, {"indent": 0}, {"indent": 2, "sort_keys": True}, {"separators": (",", ":")})):
        again = folder / f"again{number}.json"
        again.write_text(json.dumps(document_of(node), **how))
        said = merge(again, folder / "s/r2.json", "-o", out, "--force")
        check("TraceAgent, 2 ranks, 4 events" in said.stdout, f"{how}: {said}")
        check(ranks_in(out) == [0, 1, 2], f"{how}: {ranks_in(out)}")
        merge(folder / "s", "-o", folder / "all.json", "--force")
        check(absolute_times(out) == absolute_times(folder / "all.json"), f"{how}: {absolute_times(out)}")
        check(sorted(event["pid"] for event in document_of(out)["traceEvents"] if event["ph"] == "X") ==
              [0, 0, 1, 1, 2, 2], f"{how}: processes")
        check(document_of(out).get("complete"), f"{how}: not complete")
        for originals in ([node], [folder / "s"]):
            said = merge(again, *originals, "-o", out, "--force")
            check(f"left out: {again}: other files" in said.stdout, f"{how}: {said}")
            check(len(absolute_times(out)) == 2 * len(ranks_in(out)), f"{how}: {absolute_times(out)}")


def test_a_part_saved_again(folder):
    """It stays a part, and is joined with nothing that may hold its events: none of its lines is as it was."""
    for rank in range(2):
        rank_file(folder / f"s/r{rank}.json", rank, times=(rank, 100, 200))
    part, other, again, alone, out = (folder / f"{name}.json" for name in ("part", "other", "again", "alone", "out"))
    merge(folder / "s", "--time", "+0us", "+120ns", "--clip", "-o", part)
    merge(folder / "s/r0.json", "--time", "+80ns", "end", "-o", other)
    again.write_text(json.dumps(document_of(part), indent=1))
    merge(again, "-o", alone)
    for name in ("left_out", "clipped"):
        check(document_of(alone)["traceagent"].get(name) == document_of(part)["traceagent"].get(name), name)
    check(document_of(alone)["selections"] == document_of(part)["selections"], "selections")
    names = [each["name"] for each in document_of(alone)["sources"]]
    check(names[:2] == ["r0.json", "r1.json"], f"sources: {names}")
    said = subprocess.run([TRACEAGENT, "check", alone], capture_output=True, text=True, timeout=60).stdout
    check("A part of a trace" in said and "time 2" in said, said)
    said = merge(again, folder / "s", "-o", out, "--force")
    check(f"left out: {again}: other files that are given hold all of it" in said.stdout, said)
    check(len(absolute_times(out)) == 6, absolute_times(out))
    for holder, events in ((other, 2), (folder / "s/r1.json", 3)):
        said = merge(again, holder, "-o", out, "--force", code=1).stderr
        check(str(again) in said and f"{holder}" in said, said)
        check(len(absolute_times(out)) == events, f"{holder}: {absolute_times(out)}")
        told = document_of(out)
        check(told["traceagent"]["incomplete"][0]["file"] == "again.json" and not told.get("complete"), told["traceagent"])
    # What it was imported into before has the lines of its import.
    # Nor is what was merged of such a file: a merge of a cut file, saved again, and the file that was cut.
    whole = (folder / "s/r0.json").read_text()
    (folder / "s/r0.json").write_text(whole[:whole.rindex('{"ts":')])
    cut = folder / "cut.json"
    merge(folder / "s/r0.json", "-o", alone, "--force", code=1)
    again.write_text(json.dumps(document_of(alone)))
    merge(again, "-o", cut)
    (folder / "s/r0.json").write_text(whole)
    said = merge(cut, folder / "s/r0.json", "-o", out, "--force", code=1).stderr
    check(said.startswith("traceagent: written otherwise: ") and len(absolute_times(out)) in (2, 3), said)
    again.write_text(json.dumps(document_of(other), indent=1))
    merge(again, "-o", alone, "--force")
    merge(again, alone, "-o", out, "--force")
    check(len(absolute_times(out)) == 2, f"once: {absolute_times(out)}")


def test_saved_again_whole_beside_a_merge_of_a_cut_copy(folder):
    """What it holds more is taken, or told of."""
    files = [rank_file(folder / f"r{rank}.json", rank, times=(rank, 100, 200)) or folder / f"r{rank}.json"
             for rank in range(2)]
    again, pair, both, out = (folder / f"{name}.out.json" for name in ("again", "pair", "both", "out"))
    merge(files[0], "-o", out)
    again.write_text(json.dumps(document_of(out)))
    whole = files[0].read_text()
    files[0].write_text(whole[:whole.rindex('{"ts":')])
    merge(files[0], "-o", pair, code=1)
    said = merge(pair, again, "-o", out, "--force").stdout
    check(len(absolute_times(out)) == 3 and f"left out: {pair}: {again}" in said, f"taken: {said}")
    merge(*files, "-o", both, code=1)
    said = merge(both, again, "-o", out, "--force", code=1).stderr
    check(said.startswith(f"traceagent: merged files overlap: {again}") and not document_of(out).get("complete"), said)


def composer_file(path, rank, off_ns=0, node=None):
    """Composer's marks and an event: `off_ns` is how far the clock is ahead. With a node it is a file of ours."""
    marks = [("clock_sync_timestamp_us", (BASE + 500_000 + off_ns) // 1000), ("clock_sync_error_bound", 12)]
    rows = [{"ph": "M", "name": name, "pid": rank, "tid": 1, "args": {"value": value}} for name, value in marks]
    if node is None:
        event = {"name": f"of{rank}", "cat": "c", "ph": "X", "dur": 5, "pid": rank, "tid": 1,
                 "ts": (BASE + 2_000_000 + off_ns) // 1000, "args": {}}
        head = {"name": "global_rank", "ph": "M", "tid": 1, "pid": rank, "args": {"value": rank}, "ts": 1}
        path.write_text(json.dumps([head, *({**row, "ts": 1} for row in rows), event]))
        return path
    rank_file(path, rank, node, times=(2_000_000,), base=BASE + off_ns)
    text = "".join(json.dumps(row, separators=(",", ":")) + ",\n" for row in rows)
    path.write_text(path.read_text().replace('"traceEvents": [\n', '"traceEvents": [\n' + text))
    return path


def absolute_times(path):
    document = document_of(path)
    return [document["baseTimeNanoseconds"] + round(event["ts"] * 1000)
            for event in document["traceEvents"] if event["ph"] == "X"]


def test_corrected_once(folder):
    """A clock that a merge has put right is not put right again, whatever is merged with it."""
    right = BASE + 2_000_000
    for name, nodes in (("others", (None, None)), ("ours", (0, 1)), ("mixed", (0, None))):
        here = folder / f"twice-{name}"
        here.mkdir()
        first = composer_file(here / "r0.json", 0, node=nodes[0])
        second = composer_file(here / "r1.json", 1, off_ns=5_000_000_000, node=nodes[1])
        both, again = here / "both.out.json", here / "again.out.json"
        merge(first, second, "-o", both)
        check(absolute_times(both) == [right] * 2, f"{name}: {absolute_times(both)}")
        info = document_of(both)["distributedInfo"]["clock_corrections"]
        check([each["offset_ns"] for each in info] == [-5_000_000_000], f"{name}: {info}")
        third = composer_file(here / "r2.json", 2, off_ns=7_000_000_000, node=None if nodes[1] is None else 2)
        said = merge(third, both, "-o", again).stdout
        check(absolute_times(again) == [right] * 3, f"{name}, with a third: {absolute_times(again)} {said}")
        check(len(document_of(again)["distributedInfo"]["clock_corrections"]) == 2, f"{name}: both are kept")
    ours = folder / "twice-ours"
    merge(ours / "r0.json", ours / "r1.json", "--per-node", "-o", ours / "by")
    merge(ours / "r0.json", ours / "by/node1.json", "-o", ours / "again.json")
    check(absolute_times(ours / "again.json") == [right] * 2, f"a node's: {absolute_times(ours / 'again.json')}")
    # Uncorrected files of the node beside its corrected one: two clocks, both right in the end.
    other = composer_file(ours / "r5.json", 5, off_ns=5_000_000_000, node=1)
    merge(ours / "r0.json", ours / "by/node1.json", other, "-o", ours / "beside.json")
    check(absolute_times(ours / "beside.json") == [right] * 3, f"beside: {absolute_times(ours / 'beside.json')}")


def test_others_files_by_node(folder):
    """They are of the node of our files of their rank."""
    here = folder / "kin"
    own = [rank_file(here / f"own{rank}.json", rank, node=rank) for rank in range(2)]
    other = composer_file(here / "other1.json", 1)
    merge(*own, other, "--per-node", "--align", "none", "-o", here / "by")
    found = [[event["name"] for event in document_of(here / f"by/node{node}.json")["traceEvents"] if event["ph"] == "X"]
             for node in range(2)]
    check(["of1" in names for names in found] == [False, True], f"by node: {found}")
    unknown = composer_file(here / "other7.json", 7)
    result = merge(*own, unknown, "--per-node", "--align", "none", "-o", here / "by7", code=1)
    check("other7.json" in result.stderr and "--rank FILE=N" in result.stderr, f"a rank of no node: {result}")


def test_hosts_by_node(folder):
    """Where no file of ours tells the nodes they are the hosts that others' files name, in the order of their names."""
    here = folder / "hosts"
    here.mkdir()
    for pid, host in ((4422, "algo-10"), (4423, "algo-2"), (4424, "algo-2")):
        for writer in ("pythontimeline", "horovod_timeline"):
            path = here / f"1594662614815222_{pid}-{host}_{writer}.json"
            events = [{"ph": "X", "name": f"of{pid}", "ts": BASE // 1000, "dur": 1, "pid": 1, "tid": 1}]
            path.write_text(json.dumps(events))

    def names_by_node(count):
        return [{event["name"] for event in document_of(here / f"by/node{node}.json")["traceEvents"] if event["ph"] == "X"}
                for node in range(count)]

    said = merge(here, "--per-node", "-o", here / "by")
    check(names_by_node(2) == [{"of4423", "of4424"}, {"of4422"}], f"hosts: {names_by_node(2)}")
    check("node 0: algo-2\nnode 1: algo-10\n" in said.stdout, f"hosts: {said}")
    for rank in (8, 9):
        composer_file(here / f"ep0-rank{rank}.json", rank)
    said = merge(here, "--per-node", "-o", here / "by", "--force", "--align", "none")
    check(names_by_node(3)[1:] == [{"of4422"}, {"of8", "of9"}], f"and others: {names_by_node(3)}")
    check("node 2: 2 ranks, of one node or of several: no file tells the host\n" in said.stdout, f"and others: {said}")
    for path in here.glob("*timeline.json"):
        path.unlink()
    said = merge(here, "--per-node", "-o", here / "by", "--force", "--align", "none")
    check(names_by_node(1) == [{"of8", "of9"}], f"others: {names_by_node(1)}")
    check("node 0: 2 ranks, of one node or of several: no file tells the host\n" in said.stdout, f"others: {said}")
    # A file of ours says more.
    rank_file(here / "own.json", 8, node=3)
    said = merge(here, "--per-node", "-o", here / "own{node_rank}.json", "--align", "none")
    check((here / "own3.json").exists() and "no file tells" not in said.stdout, f"beside our own: {said}")


def test_pytorchs_hosts_by_node(folder):
    """They are in the names that PyTorch gives its files, where the file has the process of that number."""
    here, cases = folder / "pytorch", SOURCE / "tests/golden/merge/kineto_hosts"
    shutil.copytree(cases, here)
    for name in ("case.json", "expected.json", "expected.txt"):
        (here / name).unlink()
    said = merge(here, "--per-node", "-o", here / "by")
    by_node = [ranks_in(here / f"by/node{node}.json") for node in range(2)]
    check(by_node == [[0, 1], [2]] and "node 0: nodeA\nnode 1: nodeB\n" in said.stdout, f"PyTorch's hosts: {by_node} {said}")
    for path in here.glob("*.pt.trace.json"):
        path.rename(here / path.name.replace("_41", "_42"))
    said = merge(here, "--per-node", "-o", here / "by", "--force", "--align", "none")
    check("no file tells the host" in said.stdout, f"names that only look like it: {said}")


def test_others_file_beside_its_merge(folder):
    """It is named as it was given, once, and not as the files which it is for the time of the merge."""
    here = folder / "beside"
    here.mkdir()
    other = composer_file(here / "rank0.json", 0)
    merged = here / "merged.json"
    merge(other, composer_file(here / "rank1.json", 1), "-o", merged)
    result = merge(merged, other, "-o", here / "again.json")
    left_out = [line for line in result.stdout.splitlines() if line.startswith("left out: ")]
    check(left_out == [f"left out: {other}: a merged file that is given holds it"], f"what is left out: {result.stdout}")
    check(".traceagent-import" not in result.stdout + result.stderr, f"hidden names: {result}")


def test_composers_merged_file(folder):
    """Composer writes it beside the files of its ranks: all times of a rank shifted, the JSON written anew."""
    here, out = folder / "composer", folder / "composer.out.json"
    here.mkdir()
    first = composer_file(here / "ep0-ba5-rank0.json", 0)
    second = composer_file(here / "ep0-ba5-rank1.json", 1, off_ns=5_000_000)
    merged = []
    for path, shift_us in ((first, 0), (second, -5_000)):
        for event in json.loads(path.read_text()):
            order = {"name": "thread_sort_index", "ph": "M", "pid": event["pid"], "tid": event["tid"]}
            merged += [order, {**event, "ts": event["ts"] + shift_us}]
    (here / "merged_trace.json").write_text(json.dumps(merged, indent=1))
    for words in ((), ("--strict",)):
        said = merge(here, "-o", out, "--force", *words)
        check(f"left out: {here}/merged_trace.json: it holds what the files of its 2 ranks hold" in said.stdout, f"{said}")
        check(absolute_times(out) == [BASE + 2_000_000] * 2, f"{absolute_times(out)}")
    merge(here / "merged_trace.json", "-o", out, "--force")
    check(absolute_times(out) == [BASE + 2_000_000] * 2, f"alone: {absolute_times(out)}")


def test_output_among_inputs(folder):
    """The node's file is made again in its place, from all cycles and from itself."""
    for cycle in range(2):
        rank_file(folder / f"o/ba{cycle}-r0.json", 0, times=(cycle * 1000, cycle * 1000 + 5), base=BASE + cycle)
    node = folder / "o/node0.json"
    merge(folder / "o", "-o", node)
    rank_file(folder / "o/ba2-r0.json", 0, times=(9_000,), base=BASE + 2)
    merge(folder / "o", "-o", node, "--force")
    times = [event["ts"] for event in document_of(node)["traceEvents"] if event["ph"] == "X"]
    check(times == [0, 0.005, 1.001, 1.006, 9.002], f"all cycles: {times}")
    for cycle in range(2):
        (folder / f"o/ba{cycle}-r0.json").unlink()
    result = merge(folder / "o", "-o", node, "--force")
    check([event["ts"] for event in document_of(node)["traceEvents"] if event["ph"] == "X"] == times,
          f"from itself, which holds the cycle that is given too: {result}")
    check(sorted(path.name for path in (folder / "o").iterdir()) == ["ba2-r0.json", "node0.json"], "nothing else")


def test_chosen_files_join_again(folder):
    """A file that holds a window of its sources replaces none of them, and is replaced by them."""
    whole = rank_file(folder / "c/r0.json", 0, times=(0, 1000, 2000))
    early, late = folder / "early.json", folder / "late.json"
    merge(whole, "-o", early, "--time", "+0us", "+0.5us")
    merge(whole, "-o", late, "--time", "+1500ns", "end")
    merge(early, late, "-o", folder / "both.json")
    names = [event["name"] for event in document_of(folder / "both.json")["traceEvents"] if event["ph"] == "X"]
    check(names == ["e0", "e2000"] and len(document_of(folder / "both.json")["selections"]) == 2, f"joined: {names}")
    result = merge(early, whole, "-o", folder / "both.json", "--force")
    check(result.stdout.count("left out: ") == 1 and "3 events" in result.stdout, f"the whole wins: {result.stdout}")
    merge(whole, "-o", folder / "merged0.json")
    result = merge(early, folder / "merged0.json", "-o", folder / "both.json", "--force")
    check("3 events" in result.stdout, f"so does a merged file: {result.stdout}")


def test_what_was_cut_joins_with_nothing_of_its_sources(folder):
    other = rank_file(folder / "c/r1.json", 1)
    whole = File(folder / "c/r0.json", 0, BASE, [{"ts": 0, "dur": 3000, "ph": "X", "cat": "c", "name": "long", "pid": 0,
                                                  "tid": 1, "args": {}}]).write()
    early, late, plain, out = (folder / f"{name}.json" for name in ("early", "late", "plain", "out"))
    merge(whole, "-o", early, "--time", "+0us", "+1us", "--clip")
    merge(whole, "-o", late, "--time", "+2us", "end", "--clip")
    merge(whole, "-o", plain, "--time", "+2us", "end")
    for inputs, left_out, taken in (([early, late], late, early), ([early, plain], early, plain)):
        result = merge(*inputs, "-o", out, "--force", code=1)
        events = [event for event in document_of(out)["traceEvents"] if event["ph"] == "X"]
        check(f"cut at its edges: {left_out}: what it shares with {taken} would be there twice: select again without "
              "--clip" in result.stderr and len(events) == 1 and "complete" not in document_of(out), f"cut: {result}")
    for inputs, count in (([early, other], 2), ([early, whole], 1)):
        result = merge(*inputs, "-o", out, "--force")
        events = [event for event in document_of(out)["traceEvents"] if event["ph"] == "X"]
        check(len(events) == count and not result.stderr, f"cut, beside what it shares nothing with: {result}")


def test_what_was_not_chosen_is_told_by_later_merges(folder):
    """By cause: exactly, but where parts of the same sources are joined, of which each may have what the other lacks."""
    def told(path):
        done = subprocess.run([TRACEAGENT, "check", path], capture_output=True, text=True, timeout=60)
        about = document_of(path)["traceagent"]
        line = next((line for line in done.stdout.splitlines() if "left out by who merged" in line), "")
        return about.get("left_out"), about.get("left_out_at_most"), line.partition("merged: ")[2].partition("; what")[0]
    whole, other = (rank_file(folder / f"t/r{rank}.json", rank, times=(0, 1000, 2000)) for rank in (0, 1))
    early, late, others = folder / "te.json", folder / "tl.json", folder / "to.json"
    merge(whole, "-o", early, "--time", "+0us", "+0.5us")
    merge(whole, "-o", late, "--time", "+1500ns", "end")
    merge(other, "-o", others, "--category", "none")
    out = folder / "told.json"
    for inputs, words, expected in (
            ([early], [], ({"time": 2}, None, "time 2")),
            ([early], ["--category", "none"], ({"category": 1, "time": 2}, None, "category 1, time 2")),
            ([early, others], [], ({"time": 2, "category": 3}, None, "time 2, category 3")),
            ([early, late], [], (None, {"time": 4}, "of parts that were merged again, at most: time 4")),
            ([early, late, others], ["--time", "+1us", "end"],
             ({"time": 1, "category": 3}, {"time": 4},
              "time 1, category 3; of parts that were merged again, at most: time 4")),
            ([out], [], ({"time": 1, "category": 3}, {"time": 4},
                         "time 1, category 3; of parts that were merged again, at most: time 4"))):
        merge(*inputs, "-o", out, "--force", *words)
        check(told(out) == expected, f"{inputs} {words}: {told(out)}")
    # As merges wrote it that did not carry it on.
    early.write_text(early.read_text().replace('"left_out": {"time": 2}', '"left": 0'))
    check(told(early) == (None, None, "of parts that were merged again: not known"), f"older: {told(early)}")
    merge(early, others, "-o", out, "--force")
    check(told(out) == ({"category": 3}, None, "category 3; of parts that were merged again: not known") and
          '"left_out_at_most": null' in out.read_text(), f"of an older one: {told(out)}")
    merge(whole, other, "-o", out, "--force")
    check(told(out) == (None, None, ""), f"nobody chose: {told(out)}")


def test_strict(folder):
    """Nothing is written of files of which one of ours is cut or damaged; without --strict what can be read is."""
    folder, out = folder / "strict", folder / "strict.json"
    whole = rank_file(folder / "0.json", 0, node=0, times=range(0, 300, 10))
    other = rank_file(folder / "1.json", 1, node=1, times=range(0, 300, 10))
    text = other.read_bytes()
    merge(folder, "-o", out, "--strict")
    out.unlink()
    for what, content in (("cut", text[:1500]), ("header cut", text[:60]), ("a line", text.replace(b'"e40"', b'"e4\x01"')),
                          ("order", text.replace(b'"ts":0.070', b'"ts":0.010')), ("gzip", gzip.compress(text)[:-30])):
        other.write_bytes(content)
        for words in ((), ("--per-node",)):
            where = folder / "nodes" if words else out
            said = merge(folder, "-o", where, "--strict", *words, code=1)
            check(not out.exists() and not list(folder.glob("nodes/*")), f"{what} {words}: written")
            check(f": {other}: " in said.stderr and "nothing was written: --strict" in said.stderr, f"{what}: {said}")
        merge(folder, "-o", out, code=1)
        check(0 in ranks_in(out), f"{what}: {ranks_in(out)}")
        out.unlink()
    check(whole.exists(), "an input is gone")


def test_damaged_line(folder):
    """It alone is lost, and counted."""
    path, out = rank_file(folder / "damaged.json", 0, times=range(0, 300, 10)), folder / "out.json"
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"e40"', b'"e4\x01"'))
    said = merge(path, "-o", out, "--force", code=1)
    at = text.index(b'{"ts":0.040')
    check(f"a damaged line: {path}: at byte {at}: " in said.stderr, f"{said}")
    check("29 events, 1 event lost (not_json 1)" in said.stdout, f"{said}")
    check(document_of(out)["traceagent"]["dropped"] == {"not_json": 1}, "dropped")


def test_usage(folder):
    path, out = rank_file(folder / "usage/0.json", 0, times=range(0, 5_000_000, 1_000_000)), folder / "usage/out.json"
    said = merge(path, "-o", out, "--time", "+2ms", "+1ms", code=2)
    check("END +1ms is before START +2ms" in said.stderr and not out.exists(), f"{said}")
    merge(path, "-o", out, "--time", "+2ms", "+2ms")
    said = merge(path, "-o", folder / "usage/{node_rank}.json", code=2)
    check("give --per-node" in said.stderr, f"a name for each node: {said}")
    said = merge(path, "-o", out, "--force", "--align", "foo", code=2)
    check("give auto, collectives, barrier or none" in said.stderr and "->" not in said.stderr, f"{said}")
    for way in ("auto", "Collectives", "barrier", "none"):
        merge(path, "-o", out, "--force", "--align", way)
    said = merge(path, "-o", out, code=1)
    check("give --force, or" in said.stderr and "output.overwrite" not in said.stderr, f"there: {said}")
    said = merge(path, "-o", folder / "nowhere/out.json", code=1)
    check("(-o)" in said.stderr and "output.folder" not in said.stderr, f"no folder: {said}")
    other = folder / "usage/no.json"
    other.write_text("hello")
    said = merge(other, "-o", folder / "usage/none.json", code=1)
    check("TraceAgent or others wrote" in said.stderr, f"no trace: {said}")
    for option in ("--category", "--suffix"):
        for empty in ("", " ", ","):
            said = merge(path, "-o", folder / "usage/none.json", option, empty, code=2)
            check(f"{option}: " in said.stderr and not (folder / "usage/none.json").exists(), f"empty: {said}")
    merge(folder / "usage", "-o", out, "--force", "--suffix", "0.json, ")
    check(ranks_in(out) == [0], f"an empty one beside another: {ranks_in(out)}")
    path.chmod(0)
    if not os.access(path, os.R_OK):  # root may read all
        said = merge(path, "-o", out, "--force", code=1)
        check("Permission denied: let this user read it" in said.stderr, f"unreadable: {said}")


def test_not_closed(folder):
    """An array of others' may lack its end: it is used, and who reads the output is told."""
    path, out = folder / "open/rank0.json", folder / "open.out.json"
    path.parent.mkdir()
    whole = json.dumps([{"ph": "X", "name": "e", "ts": ts, "dur": 1, "pid": 1, "tid": 1} for ts in range(3)])
    text = whole[:whole.rindex(", {")]
    path.write_text(text + ",\n")
    said = merge(path, "-o", out)
    check(f"2 events, not closed: perhaps cut at byte {len(text) + 2}" in said.stdout, f"{said}")
    about = document_of(out)
    fault = f"an array of events that is not closed: {path}: at byte {len(text) + 2}: "
    check([each["problem"].startswith(fault) for each in about["traceagent"]["incomplete"]] == [True], f"{about}")
    check("complete" not in about, f"{about}")
    checked = subprocess.run([TRACEAGENT, "check", out], capture_output=True, text=True, timeout=60)
    check(checked.returncode == 1 and fault in checked.stdout, f"check: {checked}")
    out.unlink()
    said = merge(path, "-o", out, "--strict", code=1)
    check(said.stderr.startswith(f"traceagent: {fault}") and not out.exists(), f"--strict: {said}")
    path.write_text(whole)
    merge(path, "-o", out, "--strict")
    check(document_of(out).get("complete"), "a whole one")


def test_missing(folder):
    """What is not there is named, and the others are merged."""
    first, second = (rank_file(folder / f"missing/r{rank}.json", rank) for rank in range(2))
    gone, out = folder / "missing/gone.json", folder / "missing.out.json"
    for words in ((), ("--strict",)):
        said = merge(first, gone, second, "-o", out, *words, code=1)
        check(f"no such input: {gone}: No such file or directory: " in said.stderr, f"{said}")
        check(out.exists() != bool(words), f"{words}: {out.exists()}")
        if out.exists():
            about = document_of(out)["traceagent"]
            check(ranks_in(out) == [0, 1] and not document_of(out).get("complete"), f"{ranks_in(out)}, {about}")
            check([fault["file"] for fault in about["incomplete"]] == ["gone.json"], f"{about['incomplete']}")
            out.unlink()
    merge(gone, "-o", out, code=1)
    check(not out.exists(), "nothing is there")


def test_no_folder_for_the_output(folder):
    output = folder / "nowhere/merged.json"
    said = merge(composer_file(folder / "rank0.json", 0), "-o", output, code=1)
    check(len(said.stderr.splitlines()) == 1 and f"cannot make a folder: {output.parent}/" in said.stderr, f"{said}")


def test_ended_by_signal(folder):
    """Nothing half-written stays, and it ends by that signal."""
    folder = folder / "ended"
    path, out = rank_file(folder / "in/0.json", 0, times=range(0, 3_000_000, 10)), folder / "out.json.gz"
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    for number in signals:
        job = subprocess.Popen([TRACEAGENT, "merge", path, "-o", out, "--level", "9"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in signals])
        until = time.monotonic() + 60
        while not list(folder.glob(".out*.tmp-*")) and job.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        job.send_signal(number)
        check(job.wait(timeout=60) == -number, f"{number}: {job.returncode}")
        check(not [each for each in folder.iterdir() if each.name != "in"], f"{number}: {list(folder.iterdir())}")


def test_nothing_of_an_import_stays(folder):
    """Where nobody reads on what is printed (head), and where files may not be that large (ulimit -f)."""
    folder = folder / "import"
    folder.mkdir()
    rows = [{"ph": "X", "name": "x" * 200, "pid": 1, "tid": 1, "ts": (i * 7919) % 40_000, "dur": 1}
            for i in range(40_000)]
    (folder / "rank0.json").write_text(json.dumps(rows))
    for rank in range(1, 150):
        (folder / f"rank{rank}.json").write_text(json.dumps(rows[:1]))
    files = sorted(folder.iterdir())
    command = shlex.join(map(str, (TRACEAGENT, "merge", *files, "-o", folder / "out.json")))
    for limited in (f"{command} | :", f"ulimit -f 1000; ulimit -c 0; exec {command}"):
        said = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              restore_signals=True, timeout=60)
        check(not list(folder.glob(".*")), f"{limited[-20:]}: {list(folder.glob('.*'))}")
    check(said.returncode == 1 and "raise the limit of file sizes (ulimit -f)" in said.stderr,
          f"ulimit -f: {said.returncode}: {said.stderr}")


def test_joined_by_cat(folder):
    """What is behind the first trace of a file is not passed over in silence."""
    first, second = (rank_file(folder / f"cat/r{rank}.json", rank) for rank in range(2))
    joined, out = folder / "cat/joined.json", folder / "cat/out.json"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    said = merge(joined, "-o", out, code=1)
    check(f"text behind the end of a trace: {joined}: at byte {first.stat().st_size}: " in said.stderr, f"{said}")
    check(ranks_in(out) == [0] and not document_of(out).get("complete"), f"{ranks_in(out)}")
    out.unlink()
    merge(joined, "--strict", "-o", out, code=1)
    check(not out.exists(), "--strict")


def test_more_than_may_be_open(folder):
    """Each that cannot be read is named, and what is said of the output is true of it."""
    files, most_open = 60, 40
    for rank in range(files):
        rank_file(folder / f"many/r{rank}.json", rank, times=(rank, 1000 + rank))
    out = folder / "many.json"
    command = [TRACEAGENT, "merge", "--mix-runs", "--align", "none", "-o", out, folder / "many"]
    result = subprocess.run(["sh", "-c", f"ulimit -n {most_open}; exec " + shlex.join(map(str, command))],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    ranks = {event["pid"] for event in document_of(out)["traceEvents"] if event["ph"] == "X"}
    refused = [line for line in result.stderr.splitlines() if f"{folder}/many/r" in line]
    check(result.returncode == 1 and 0 < len(ranks) < most_open, f"open files: {len(ranks)} ranks, {result}")
    check(len(refused) == files - len(ranks), f"open files: {len(ranks)} ranks, {result}")
    check(f"many.json: {len(ranks)} ranks, {2 * len(ranks)} events" in result.stdout, f"open files: {result.stdout}")


def piped(subcommand, what, text, *words):
    """In a shell, which makes the pipe."""
    script = f"{TRACEAGENT} {subcommand} {what} {' '.join(words)}"
    return subprocess.run(["bash", "-c", script], input=text, capture_output=True, text=True, timeout=60)


def test_pipes(folder):
    """Nobody writes into one that lies in a folder, maybe for ever; one that a shell made is read where once is enough."""
    folder = folder / "pipes"
    file, fifo, out = rank_file(folder / "0.json", 0), folder / "fifo.json", folder / "out.json"
    os.mkfifo(fifo)
    refused = merge(fifo, "-o", out, code=1)
    check(refused.stderr.startswith(f"traceagent: a pipe, not a file: {fifo}: ") and not out.exists(), f"fifo: {refused}")
    beside = merge(fifo, file, "-o", out, code=1)
    check(beside.stderr == refused.stderr and "1 rank" in beside.stdout, f"fifo and a file: {beside}")
    checked = subprocess.run([TRACEAGENT, "check", fifo], capture_output=True, text=True, timeout=60)
    check(checked.returncode == 1 and checked.stderr.startswith(f"traceagent: a pipe, not a file: {fifo}: "),
          f"check of a fifo: {checked}")
    itself = subprocess.run([TRACEAGENT, "check", file], capture_output=True, text=True, timeout=60)
    for what in ("/dev/stdin", f"<(cat {file})"):
        each = piped("check", what, file.read_text())
        check(each.stdout.split("\n", 1)[1] == itself.stdout.split("\n", 1)[1] and each.returncode == itself.returncode,
              f"check of {what}: {each}, of the file {itself}")
        refused = piped("merge", what, file.read_text(), "-o", str(folder / "piped.json"))
        check(refused.returncode == 1 and "a pipe, not a file: /dev/" in refused.stderr, f"merge of {what}: {refused}")


def test_corrected_in_two_ways(folder):
    """What two parts share is the same to the letter only where each event's time was corrected alike."""
    right = [BASE + 2_000_000] * 2
    first = composer_file(folder / "r0.json", 0, node=0)
    second = composer_file(folder / "r1.json", 1, off_ns=5_000_000_000, node=1)
    window, again, apart, out = (folder / f"{name}.out.json" for name in ("window", "again", "apart", "both"))
    for path, words in ((window, []), (again, []), (apart, ["--align", "none"])):
        merge(first, second, "-o", path, "--time", "+0us", "end", *words)
    told = document_of(window)["sources"]
    check([each.get("corrected", "?") == "" for each in told] == [True, False], f"whose: {told}")
    merge(window, again, "-o", out, "--force")
    check(absolute_times(out) == right, f"alike: {absolute_times(out)}")
    merge(window, first, "-o", out, "--force")
    check(absolute_times(out) == right, f"with a rank that was not moved: {absolute_times(out)}")
    merge(window, apart, "--rank", "0", "-o", out, "--force")
    check(absolute_times(out) == right[:1], f"of that rank alone: {absolute_times(out)}")
    merge(window, second, "--mix-runs", "-o", out, "--force")
    check(absolute_times(out) == right, f"moved by this merge as by that one: {absolute_times(out)}")
    # Another file of that rank, which another merge corrected otherwise, is none of theirs.
    third = composer_file(folder / "r1b.json", 1, off_ns=7_000_000_000, node=1)
    more = folder / "more.out.json"
    merge(window, third, "--mix-runs", "--time", "+0us", "end", "-o", more)
    said = merge(window, more, "-o", out, "--force")
    check(len(absolute_times(out)) == 3 and "left out: 2 events that several inputs hold" in said.stdout, f"more: {said}")
    said = merge(window, apart, "-o", out, "--force", code=1).stderr
    check(said.startswith("traceagent: corrected otherwise: ") and "choose again of the rank files" in said, said)
    check(len(absolute_times(out)) == 2, f"each is there once: {absolute_times(out)}")


def test_corrected_or_not(folder):
    """A file that does not say which of its sources were corrected is joined with none that may differ."""
    files = [composer_file(folder / f"r{rank}.json", rank, off_ns=off, node=rank)
             for rank, off in enumerate((0, 5_000_000_000, 7_000_000_000))]
    pair, own, window, old, out = (folder / f"{name}.out.json" for name in ("pair", "own", "window", "old", "both"))
    merge(*files[1:], "-o", pair)
    merge(pair, "--rank", "1", "--time", "+0us", "end", "-o", own)
    check("clock_corrections" not in document_of(own)["distributedInfo"], "of ranks that are not in it")
    merge(*files, "--time", "+0us", "end", "-o", window)
    said = merge(own, window, "--align", "none", "--mix-runs", "-o", out, code=1).stderr
    check(said.startswith("traceagent: corrected otherwise: ") and len(absolute_times(out)) == 3, f"not moved: {said}")
    # An earlier version has marked nothing.
    old.write_text(re.sub(r', "corrected": "[^"]*"', "", window.read_text()))
    check(old.read_text() != window.read_text(), "marks")
    said = merge(old, files[1], "--align", "none", "--mix-runs", "-o", out, "--force", code=1).stderr
    check("corrected otherwise: " in said and len(absolute_times(out)) == 1, f"an earlier version's: {said}")
    for others in ([window], [old, window]):
        merge(old, *others, "-o", out, "--force")
        check(len(absolute_times(out)) == 3, f"where the same was done: {absolute_times(out)}")


def test_what_is_said_names_what_was_given(folder):
    """Where others' files are for the time of the merge nobody needs to know."""
    first = composer_file(folder / "r0.json", 0)
    second = composer_file(folder / "r1.json", 1, off_ns=5_000_000_000)
    window, out = folder / "window.out.json", folder / "both.out.json"
    merge(first, second, "--time", "+0us", "end", "-o", window)
    said = merge(window, second, "--align", "none", "-o", out, code=1).stderr
    check(f"what it shares with {second} would be there twice" in said, said)
    told = document_of(out)["traceagent"]["incomplete"]
    check(len(told) == 1 and f" {second} " in told[0]["problem"] and ".traceagent-import" not in out.read_text(), told)


def test_parts_by_rank(folder):
    """Joined again they are all: what the one left out the other has."""
    for rank in range(4):
        rank_file(folder / f"r{rank}.json", rank, times=(rank, 100, 200))
    merge(*folder.glob("r*.json"), "-o", folder / "all.out")
    parts = [folder / "a.out", folder / "b.out"]
    for part, ranks in zip(parts, ("0-1", "2-3")):
        merge(folder / "all.out", "-o", part, "--rank", ranks)
    check(document_of(parts[0])["traceagent"]["left_out"] == {"rank": 6}, "of a part")
    merge(*parts, "-o", folder / "joined.out")
    joined = document_of(folder / "joined.out")
    check(joined["traceagent"]["left_out"] == {} and ranks_in(folder / "joined.out") == [0, 1, 2, 3],
          f"joined: {joined['traceagent']['left_out']}")
    check(joined["traceEvents"] == document_of(folder / "all.out")["traceEvents"], "all events")


def test_terminal(folder):
    path = rank_file(folder / "t.json", 0, times=range(0, 600_000, 10))
    leader, follower = pty.openpty()
    job = subprocess.Popen([TRACEAGENT, "merge", path, "-o", folder / "t.out", "--time", "+0us", "end"],
                           stdout=subprocess.DEVNULL, stderr=follower, stdin=subprocess.DEVNULL,
                           start_new_session=True)
    os.close(follower)
    shown, until = b"", time.monotonic() + 60
    try:
        while time.monotonic() < until:
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 4096)
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(leader)
        try:
            job.wait(timeout=60)
        finally:
            job.kill()
    check(job.returncode == 0 and b" %  " in shown and b" MB/s  " in shown and b" left" in shown, f"bar: {shown}")
    check(shown.endswith(b"\r\x1b[K"), f"the bar is taken away: {shown[-40:]}")


def main():
    faulthandler.dump_traceback_later(100, exit=True)  # says where it hangs, before ctest ends it
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                (folder / name).mkdir()
                test(folder / name)
    print("ok" if not failures else f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
