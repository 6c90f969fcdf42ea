#!/usr/bin/env python3
"""What `traceagent merge` makes of other people's files beside copies, earlier states and merges of them: each event is
there once."""
import binascii
import gzip
import json
import re
import sys

from merge_cases import (BASE, absolute_times, check, composer_file, document_of, merge, pytorch_file, rank_file, ranks_in, run,
                         sagemaker_file)


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


if __name__ == "__main__":
    sys.exit(run(globals()))
