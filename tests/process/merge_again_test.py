#!/usr/bin/env python3
"""What `traceagent merge` makes of files that it, or another program, has made of others: merged, chosen, corrected
and saved ones beside what they were made of."""
import gzip
import json
import re
import subprocess
import sys

from merge_cases import BASE, TRACEAGENT, absolute_times, check, composer_file, document_of, merge, rank_file, ranks_in, run
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
    whole, other = (rank_file(folder / f"t/r{rank}.json", rank, times=(0, 1000, 2000, *[2500] * rank)) for rank in (0, 1))
    early, late, others = folder / "te.json", folder / "tl.json", folder / "to.json"
    merge(whole, "-o", early, "--time", "+0us", "+0.5us")
    merge(whole, "-o", late, "--time", "+1500ns", "end")
    other.write_text(other.read_text().replace('"c","name":"e2500"', '"k","name":"e2500"'))
    merge(other, "-o", others, "--category", "k")
    out = folder / "told.json"
    for inputs, words, expected in (
            ([early], [], ({"time": 2}, None, "time 2")),
            ([early, others], ["--category", "k"], ({"category": 4, "time": 2}, None, "category 4, time 2")),
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
