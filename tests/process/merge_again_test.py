#!/usr/bin/env python3
"""What `traceagent merge` makes of files that it, or another program, has made of others: merged, chosen, corrected
and saved ones beside what they were made of."""
import binascii
import gzip
import json
import re
import subprocess
import sys

from merge_cases import (BASE, TRACEAGENT, absolute_times, check, composer_file, document_of, merge, pytorch_file, rank_file,
                         ranks_in, run, sagemaker_file)
from merge_model import File


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


def test_saved_again_with_fewer_events(folder):
    """What its writer counted and is not there is lost, but where others have it."""
    rank_file(folder / "s/r0.json", 0, times=(0, 100, 200))
    node, again, out = (folder / f"{name}.json" for name in ("node", "again", "out"))
    merge(folder / "s", "-o", node)
    document = document_of(node)
    document["traceEvents"].pop()
    again.write_text(json.dumps(document))
    said = merge(again, "-o", out, code=1)
    check(said.stderr.startswith(f"traceagent: events are missing: {again}: it says that 3 were written, and has 2: "), said)
    check("2 events, 1 lost: missing_lines" in said.stdout, said)
    told = document_of(out)
    check(len(absolute_times(out)) == 2 and not told.get("complete"), told)
    check(told["traceagent"]["dropped"] == {"missing_lines": 1}, told["traceagent"])
    check([each["file"] for each in told["traceagent"]["incomplete"]] == ["again.json"], told["traceagent"])
    merge(again, "--strict", "-o", out, "--force", code=1)
    said = merge(again, folder / "s", "-o", out, "--force").stdout
    check(f"left out: {again}: other files" in said and document_of(out).get("complete"), said)


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


def damaged_line(path, number=0):
    lines = path.read_text().split("\n")
    events = [at for at, line in enumerate(lines) if line.startswith('{"ts"')]
    lines[events[number]] = lines[events[number]].replace('"name"', '"na\x01me"')
    path.write_text("\n".join(lines))


def cut(path, events):
    """Behind so many."""
    text = path.read_bytes()
    at = 0
    for _ in range(events + 1):
        at = text.index(b'{"ts"', at + 1)
    path.write_bytes(text[:at])


def events_by_rank(path):
    ranks = [event["pid"] for event in document_of(path)["traceEvents"] if event["ph"] == "X"]
    return {rank: ranks.count(rank) for rank in sorted(set(ranks))}


def test_a_merged_file_gives_what_is_damaged_now(folder):
    """Each rank by itself, whatever of the others was damaged when it was merged."""
    files = [rank_file(folder / f"r{rank}.json", rank, times=range(0, 400, 10)) for rank in range(3)]
    node = folder / "node0.json"
    damaged_line(files[2], 3)
    merge(folder, "-o", node, code=1)
    cut(files[1], 5)
    for inputs in ((folder,), (node, *files), (node, files[1])):
        out = folder / "out.txt"
        merge(*inputs, "-o", out, "--force", code=1 if len(inputs) != 2 else 0)
        check(events_by_rank(out) == {0: 40, 1: 40, 2: 39}, f"{inputs}: {events_by_rank(out)}")
        told = document_of(out)["traceagent"]
        check([each["file"] for each in told["incomplete"]] == ["r2.json"] and told["dropped"] == {"not_json": 1},
              f"{inputs}: {told['incomplete']} {told['dropped']}")
    merge(folder, "-o", node, "--force", code=1)
    check(events_by_rank(node) == {0: 40, 1: 40, 2: 39}, f"written over itself: {events_by_rank(node)}")
    # What is damaged both in the merged file and beside it: each event of the two, once.
    cut(files[2], 20)
    merge(folder, "-o", node, "--force", code=1)
    check(events_by_rank(node) == {0: 40, 1: 40, 2: 39}, f"joined: {events_by_rank(node)}")


def test_damaged_copies(folder):
    path, node, out = rank_file(folder / "r0.json", 0, times=range(0, 400, 10)), folder / "node0.json", folder / "out.txt"
    merge(path, "-o", node)
    damaged_line(path)
    (folder / "r0.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    said = merge(folder, "-o", out)
    check(events_by_rank(out) == {0: 40} and said.stdout.count("left out: ") == 2, f"whole in the merged file: {said}")
    fuller = rank_file(folder / "copies/r0.json", 0, times=range(0, 400, 10))
    cut(fuller, 30)
    cut(path, 10)
    said = merge(path, fuller, "-o", out, "--force", code=1).stdout
    check(events_by_rank(out) == {0: 30}, f"{events_by_rank(out)}")
    check(f"left out: {path}: a damaged copy of {fuller}, which is given too and holds as much" in said, said)


def test_a_window_whose_ranks_are_all_there(folder):
    """In a merged file and in a rank file: nothing of it is missing."""
    files = [rank_file(folder / f"r{rank}.json", rank, times=range(0, 400, 10)) for rank in range(2)]
    window, first, out = folder / "window.txt", folder / "first.txt", folder / "out.txt"
    merge(*files, "-o", window, "--time", "+0us", "+2us")
    merge(files[0], "-o", first)
    said = merge(first, files[1], window, "-o", out)
    check(events_by_rank(out) == {0: 40, 1: 40} and document_of(out).get("complete") is True, f"{said}")
    check(f"left out: {window}: other files that are given hold it" in said.stdout, f"{said}")
    damaged_line(files[1])
    merge(first, files[1], window, "-o", out, "--force", code=1)


def test_equal_files_of_two_ranks(folder):
    """A simulation's, which has no real times: the folders tell that they are two."""
    events = [{"ph": "X", "name": f"e{number}", "pid": 1, "tid": 1, "ts": number * 10, "dur": 5} for number in range(5)]
    for rank in range(2):
        (folder / f"rank{rank}").mkdir()
        (folder / f"rank{rank}/trace.json").write_text(json.dumps({"traceEvents": events}))
    out = folder / "out.txt"
    said = merge(folder, "-r", "-o", out).stdout
    check("10 events" in said and "left out" not in said and ranks_in(out) == [0, 1], f"two ranks: {said}")
    # And so beside what was made of one of them.
    merged, first, second = folder / "merged.txt", folder / "rank0/trace.json", folder / "rank1/trace.json"
    merge(first, "-o", merged)
    said = merge(merged, second, "-o", out, "--force").stdout
    check("10 events" in said and "left out" not in said and ranks_in(out) == [0, 1], f"beside a merged file: {said}")
    said = merge(merged, first, "-o", out, "--force").stdout
    check("5 events" in said and "left out" in said and ranks_in(out) == [0], f"beside its own: {said}")
    (folder / "copies").mkdir()
    (folder / "copies/trace.json").write_text(json.dumps({"traceEvents": events}))
    said = merge(folder / "rank0/trace.json", folder / "copies/trace.json", "-o", out, "--force").stdout
    check("5 events" in said and "left out" in said, f"nobody's: {said}")


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


def others_files(folder):
    return (pytorch_file(folder / "pt/nodeA_4000.170000.pt.trace.json", 0), composer_file(folder / "ep0-ba5-rank0.json", 0),
            sagemaker_file(folder / f"sm/{BASE // 1000}_400-algo-1_pythontimeline.json"))


def distinct(path):
    events = [event["name"] for event in document_of(path)["traceEvents"] if event["ph"] == "X"]
    check(len(events) == len(set(events)), f"{path}: twice: {events}")
    return len(events)


def test_others_file_compressed_since_its_merge(folder):
    """Its text is the same, whichever of the two was merged before."""
    merged, out = folder / "merged.json", folder / "out.json"
    for plain in others_files(folder):
        count = distinct(merge(plain, "-o", merged, "--force") and merged)
        packed = plain.with_name(plain.name + ".gz")
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        for before, now in ((plain, packed), (packed, plain)):
            merge(before, "-o", merged, "--force")
            said = merge(merged, now, "-o", out, "--force").stdout
            check(distinct(out) == count and f"left out: {merged}: " in said, f"{now}: {said}")
            both = folder / "both.json"
            merge(now, "-o", both, "--force")
            said = merge(merged, both, "-o", out, "--force").stdout
            check(distinct(out) == count and "left out: " in said, f"merged of each: {said}")
        # Beside another one it is left out, and so it is where an earlier version marked the compressed bytes.
        rank_file(folder / "own/r1.json", 1, times=(1, 2))
        merge(packed, folder / "own", "-o", merged, "--force")
        old = folder / "old.json"
        marks = ["%08x-%d" % (binascii.crc32(each.read_bytes()), each.stat().st_size) for each in (plain, packed)]
        check(marks[0] in merged.read_text(), f"{plain}: the mark of its text")
        old.write_text(merged.read_text().replace(*marks))
        for holder, again in ((merged, plain), (merged, packed), (old, packed)):
            said = merge(holder, again, "-o", out, "--force").stdout
            check(distinct(out) == count + 2, f"{again}: {said}")
            check(f"left out: {again}: a merged file that is given holds it" in said, f"{again}: {said}")


def test_others_file_under_another_name(folder):
    """It is a copy where the rank is the same, or nothing tells it and no other process has had such times."""
    merged, out = folder / "merged.json", folder / "out.json"
    for plain in others_files(folder):
        merge(plain, "-o", merged, "--force")
        copy = folder / f"copies/copy_of_{plain.name}"
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(plain.read_bytes())
        for beside in (merged, plain):
            said = merge(beside, copy, "-o", out, "--force").stdout
            check(distinct(out) == distinct(merged) and "left out: " in said, f"{copy} beside {beside}: {said}")
            check(ranks_in(out) == [0], f"{copy}: {ranks_in(out)}")
        # And so is what was made of the copy.
        again, of_copy = folder / "again.json", folder / "of_copy.json"
        merge(merged, copy, "-o", out, "--force")
        merge(copy, "-o", of_copy, "--force")
        for first, second in ((out, plain), (merged, of_copy), (of_copy, out)):
            merge(first, second, "-o", again, "--force")
            check(distinct(again) == distinct(merged), f"{first} beside {second}: again")


def test_the_whole_of_what_was_merged_too_early(folder):
    """Under its name, another one, or compressed: the merged file gives way."""
    merged, out = folder / "merged.json", folder / "out.json"
    for plain in others_files(folder):
        text = plain.read_text()
        count = distinct(merge(plain, "-o", out, "--force") and out)
        early = folder / "early" / plain.name
        early.parent.mkdir(exist_ok=True)
        early.write_text(text[:len(text) * 2 // 3])
        merge(early, "-o", merged, "--force", code=1)
        wholes = (folder / "now" / plain.name, folder / f"copy_of_{plain.name}", folder / f"copy_of_{plain.name}.gz")
        wholes[0].parent.mkdir(exist_ok=True)
        for whole in wholes:
            whole.write_bytes(gzip.compress(text.encode()) if whole.suffix == ".gz" else text.encode())
            said = merge(merged, whole, "-o", out, "--force").stdout
            check(f"left out: {merged}: " in said and distinct(out) == count, f"{whole}: {said}")
            check(document_of(out).get("complete") is True, f"{whole}: {said}")


def test_others_file_that_another_program_wrote_anew(folder):
    first = pytorch_file(folder / "a/host_4000.170000.pt.trace.json", 0)
    second = folder / "b" / first.name
    second.parent.mkdir()
    out, merged = folder / "out.json", folder / "merged.json"
    # In other words, and under another name too: equal events are there once, and it is told.
    for second in (second, folder / "b/again.json"):
        second.write_text(json.dumps(json.loads(first.read_text())))
        said = merge(first, second, "-o", out, "--force", code=1).stderr
        check(f"traceagent: events given twice: {second}: " in said and f"{first}" in said, said)
        check("complete" not in document_of(out) and distinct(out) == 10, said)
        merge(first, "-o", merged, "--force")
        check("left out: 10 events that several inputs hold" in merge(merged, second, "-o", out, "--force").stdout, "beside it")
        check(distinct(out) == 10, f"{second} beside a merged file")
    second = folder / "b" / first.name
    # Another cycle of the same work.
    pytorch_file(second, 0, times=range(100, 110))
    check(not merge(first, second, "-o", out, "--force").stderr, "another cycle")


def test_the_beginning_of_others_file(folder):
    """Copied before it was written to its end, or cut: what it holds the whole one holds."""
    out = folder / "out.json"
    pytorchs, _, plain = others_files(folder)
    for plain in (pytorchs, plain):
        text = plain.read_text()
        early = folder / "early" / plain.name
        early.parent.mkdir(exist_ok=True)
        for cut in (text[:-1], text[:text.rindex("}")], text[:text.rindex("]")], text[:-40], text[:text.rindex('"ph": "X"')]):
            early.write_text(cut)
            said = merge(early, plain, "-o", out, "--force")
            check(f"left out: {early}: a copy of the beginning of {plain}\n" in said.stdout, f"{cut[-40:]}: {said}")
            check(distinct(out) == 10 and document_of(out).get("complete"), f"{cut[-40:]}: {said}")
    # An array that was closed there.
    early = sagemaker_file(folder / f"e/{BASE // 1000}_400-algo-1_pythontimeline.json", times=range(4))
    said = merge(early, plain, "-o", out, "--force").stdout
    check(f"left out: {early}: a copy of the beginning" in said and distinct(out) == 10, said)
    # What it holds otherwise, or more, is not left out; nor is another rank's, whose files begin alike.
    other = sagemaker_file(early, times=(0, 1, 5, 7))
    said = merge(other, plain, "-o", out, "--force").stdout
    check(len(absolute_times(out)) == 14 and "left out: " not in said, said)
    ranks = [folder / f"rank{rank}/trace.json" for rank in range(2)]
    for rank, path in enumerate(ranks):
        path.parent.mkdir()
        path.write_text(json.dumps([{"ph": "X", "name": f"e{us}", "pid": 1, "tid": 1, "ts": us, "dur": 1}
                                    for us in range(3 + rank)]))
    said = merge(*ranks, "-o", out, "--force").stdout
    check(ranks_in(out) == [0, 1] and len(absolute_times(out)) == 7, said)


def test_states_of_others_file(folder):
    """What nothing tells to be the same file: each of their events is there once all the same."""
    out, merged = folder / "out.json", folder / "merged.json"
    for plain in others_files(folder):
        text = plain.read_text()
        merge(plain, "-o", merged, "--force")
        count = distinct(merged)
        # An early state that was closed, and one that was compressed and not copied to its end.
        early, packed = folder / "early" / plain.name, folder / "early" / (plain.name + ".gz")
        early.parent.mkdir(exist_ok=True)
        last = text.rindex("{", 0, text.rindex('"ph": "X"'))
        early.write_text(text[:last].rstrip().rstrip(",") + ("]}" if text.startswith("{") else "]"))
        packed.write_bytes(gzip.compress(text.encode())[:-40])
        for state, code in ((early, 0), (packed, 1)):
            for whole in (merged, plain):
                said = merge(state, whole, "-o", out, "--force", code=None).stdout
                check(distinct(out) == count, f"{state} beside {whole}: {said}")
    # What a file itself has twice stays so, whatever it has become.
    events = [{"ph": "X", "name": f"t{tid}", "pid": 1, "tid": tid, "ts": BASE // 1000 + us, "dur": 1} for tid in range(3)
              for us in (9, 5, 9, 5)]
    for name in ("a/rank0.json", "b/rank0.json"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(json.dumps(events))
        events.insert(5, {**events[0], "name": "more"})
    said = merge(folder / "a/rank0.json", folder / "b/rank0.json", "-o", out, "--force").stdout
    check(len(absolute_times(out)) == 13 and "left out: 12 events that several inputs hold" in said, said)


def test_distinct_events_stay(folder):
    """Files of one rank and name, of two devices, have events that are equal; so have two threads' ends."""
    def device(path, number, ends):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([{"ph": "X", "name": f"begin {number}", "pid": 1, "tid": 1, "ts": BASE // 1000, "dur": 1},
                                    *({"ph": "E", "pid": 1, "tid": 1, "ts": BASE // 1000 + us} for us in ends)]))
        return path
    first, second = (device(folder / f"gpu{number}/rank0.json", number, range(4 + number)) for number in range(2))
    merged, out = folder / "merged.txt", folder / "out.txt"
    merge(first, "-o", merged)
    for beside in (first, merged):
        said = merge(beside, second, "-o", out, "--force").stdout
        check("11 events" in said and "left out" not in said, f"beside {beside}: {said}")


def test_what_begins_alike(folder):
    plain, packed, anew, merged, out = (folder / name for name in (
        "rank0/trace.json", "rank0/e/trace.json.gz", "rank0/anew.json", "merged.txt", "out.txt"))
    events = [{"ph": "X", "name": f"e{us} \u00e9", "pid": 1, "tid": 1, "ts": BASE // 1000 + us, "dur": 1} for us in range(9)]
    packed.parent.mkdir(parents=True)
    plain.write_text(json.dumps(events, ensure_ascii=False))
    packed.write_bytes(gzip.compress(json.dumps(events[:5], ensure_ascii=False).encode()))
    merge(plain, "-o", merged)
    for whole in (merged, plain):
        said = merge(packed, whole, "-o", out, "--force", "--rank", f"{packed}=0").stdout
        check(distinct(out) == 9 and ranks_in(out) in ([0], None), f"{packed} beside {whole}: {said}")
    # In other words: no event of the one is as the other's.
    anew.write_text(json.dumps([dict(sorted(event.items())) for event in events], separators=(",", ":")))
    said = merge(merged, anew, "-o", out, "--force", code=1).stderr
    check("traceagent: states of one file: " in said and "no event of the two is written alike" in said, said)
    # Windows of the one need not have any.
    first, second = folder / "first.txt", folder / "second.txt"
    merge(packed, "-o", first, "--rank", f"{packed}=0", "--time", "+0us", "+2us")
    merge(plain, "-o", second, "--time", "+6us", "end")
    check("left out" not in merge(first, second, "-o", out, "--force").stdout, "two windows")
    # The counters of two hosts.
    for host in ("a", "b"):
        (folder / f"host-{host}").mkdir()
        (folder / f"host-{host}/trace.json").write_text(json.dumps([
            {"ph": "C", "name": "cpu", "pid": 1, "tid": 1, "ts": BASE // 1000 + s * 1000, "args": {"cpu": s % 2 if s else host}}
            for s in range(8 if host == "a" else 9)]))
    said = merge(folder / "host-a/trace.json", folder / "host-b/trace.json", "-o", out, "--force").stdout
    check("2 ranks, 17 events" in said and "left out" not in said, said)
    # Two cycles may begin alike where their times count from their own bases.
    cycles = [pytorch_file(folder / f"c{number}/host_1.{number}.pt.trace.json", 0) for number in range(2)]
    cycles[1].write_text(cycles[1].read_text().replace(str(BASE), str(BASE + 10**9)))
    said = merge(*cycles, "-o", out, "--force").stdout
    check("20 events" in said and "left out" not in said, said)


def test_where_a_rank_is_told_in_one_merge_only(folder):
    """By a folder, by the user, or in none of the files of an earlier version: the file is there once."""
    for number, path in enumerate(("trace.json", "trace_rank0.json")):
        (folder / f"{number}/rank0").mkdir(parents=True)
        given = sagemaker_file(folder / str(number) / "rank0" / path)
        first, second, out = (folder / f"{number}/{name}.txt" for name in ("first", "second", "out"))
        merge(path, "-o", "../first.txt", cwd=given.parent)
        merge(given, "-o", second)
        user, window, old, saved = (folder / f"{number}/{name}.txt" for name in ("user", "window", "old", "saved.json"))
        merge(given, "-o", user, "--rank", f"{given}=3")
        merge(given, "-o", window, "--time", "+0us", "+5us")
        old.write_text(re.sub(r', "(told_rank|named_rank|begins)": ("[0-9]*"|[0-9]+)', "", second.read_text()))
        saved.write_text(json.dumps(json.loads(second.read_text())))
        for one, other in ((first, second), (first, user), (second, user), (user, given), (old, second), (old, window),
                           (first, window), (saved, first), (saved, given)):
            said = merge(one, other, "-o", out, "--force", code=None)
            check(distinct(out) == 10, f"{one} and {other}: {said}")
        copy = folder / f"{number}/copies/other.json"
        copy.parent.mkdir()
        copy.write_text(given.read_text())
        merge(saved, copy, "-o", out, "--force")
        check(distinct(out) == 10, f"a copy beside {saved}")


def test_an_early_state_beside_what_was_corrected(folder):
    """No event of the one is equal to the other's: it is told."""
    first, second = composer_file(folder / "ep0-ba5-rank0.json", 0), composer_file(folder / "ep0-ba5-rank1.json", 1, off_ns=5_000_000)
    merged, out, early = folder / "merged.txt", folder / "out.txt", folder / "early" / second.name
    more = {"name": "more", "cat": "c", "ph": "X", "dur": 5, "pid": 1, "tid": 1, "ts": (BASE + 3_000_000) // 1000, "args": {}}
    early.parent.mkdir()
    early.write_bytes(second.read_bytes())
    second.write_text(json.dumps([*json.loads(second.read_text()), more]))
    merge(first, second, "-o", merged)
    check(distinct(merge(merged, early, "-o", out) and out) == 3, "corrected as before")
    said = merge(merged, early, "-o", out, "--force", "--align", "none", code=1)
    check("traceagent: states of one file: " in said.stderr and "clock was corrected otherwise" in said.stderr, f"{said}")


def test_others_files_that_got_other_ranks(folder):
    """In one merge a file that tells no rank was the first of its names, and in the other the second."""
    files = [sagemaker_file(folder / f"{BASE // 1000}_{number}-algo-1_pythontimeline.json", times=range(10 * number, 10 * number + 5))
             for number in (400, 401, 402)]
    first, second, out = (folder / f"{name}.txt" for name in ("first", "second", "out"))
    merge(files[0], files[1], "-o", first, "--time", "+0us", "+12us")
    merge(files[1], files[2], "-o", second, "--time", "+0us", "+12us")
    said = merge(first, second, "-o", out, code=1)
    check(f"traceagent: numbered otherwise: {second}: what it shares with {first} would be there twice, since files that "
          "tell no rank have got other ones: merge the files that both were made of, with --rank" in said.stderr, f"{said}")
    check(distinct(out) == 8, f"{said}")


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
    # A copy of a rank's file that was broken off changes nothing.
    early = folder / "composer.early" / first.name
    early.parent.mkdir()
    early.write_text(first.read_text()[:-1])
    merge(here, early, "-o", out, "--force")
    check(absolute_times(out) == [BASE + 2_000_000] * 2, f"with the beginning of one: {absolute_times(out)}")
    merge(here / "merged_trace.json", "-o", out, "--force")
    check(absolute_times(out) == [BASE + 2_000_000] * 2, f"alone: {absolute_times(out)}")


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


if __name__ == "__main__":
    sys.exit(run(globals()))
