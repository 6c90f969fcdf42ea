#!/usr/bin/env python3
"""What `traceagent merge` makes of --time, --steps, --clip, --rank and --category, on made files with slices,
arrows, counters and pairs of all kinds, against a model (merge_model.py); and cases by hand."""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys

import merge_model
from merge_cases import BASE, TRACEAGENT, check, document_of, merge, run
from merge_model import File, Maker, Rules


def made_files(folder, seed):
    makers = [(0, 0, BASE), (1, 0, BASE + 1_500), (4, 1, BASE + 33_333), (12, 1, BASE - 7_000)]
    files = []
    for rank, node, base in makers:
        events = Maker(seed * 100 + rank, rank).make()
        compress = gzip.compress if rank == 1 else None
        files.append(File(folder / f"r{rank}.json{'.gz' if compress else ''}", rank, base, events, node))
        files[-1].write(compress)
    return files


def compare(folder, files, inputs, rules, words, what):
    output = folder / "out.json"
    expected, left_out = merge_model.chosen(files, rules)
    output.unlink(missing_ok=True)
    is_empty = not expected and bool({"--time", "--category"} & set(words))
    result = merge(*inputs, "-o", output, "--force", "--mix-runs", *words, code=1 if is_empty else 0)
    if is_empty:
        check("no events: " in result.stderr and not output.exists(), f"{what} {words}: {result}")
        return None
    document = document_of(output)
    got = merge_model.rows_of(document)
    first = next((pair for pair in zip(expected, got) if pair[0] != pair[1]), None)
    check(got == expected, f"{what} {words}: {len(got)} events, not {len(expected)}; first difference {first}")
    told = dict(document["traceagent"].get("left_out", {}))
    check(told == left_out, f"{what} {words}: left out {told}, not {left_out}")
    check(document["complete"], f"{what}: complete")
    check(sum(left_out.values()) == 0 or f"left out: {sum(left_out.values())} event" in result.stdout, result.stdout)
    return document


def random_rules(chance):
    """(Rules, words on the command line)"""
    rules, words = Rules(), []
    if chance.random() < 0.8:
        begin = BASE + chance.randrange(-5_000, 90_000)
        rules.window = (begin, begin + chance.randrange(0, 60_000))
        rules.clip = chance.random() < 0.5
        words += ["--time", *(f"{ns // 1000}.{ns % 1000:03d}" for ns in rules.window)]
        words += ["--clip"] if rules.clip else []
    if chance.random() < 0.4:
        rules.categories = set(chance.sample(["kernel", "cuda_runtime", "a", "ac2g", "async"], 2))
        words += ["--category", ",".join(sorted(rules.categories))]
    if chance.random() < 0.3:
        rules.ranks = {1, 4, 5, 6}
        words += ["--rank", "1,4-6"]
    return rules, words


def test_against_the_model(folder):
    rounds = int(os.environ.get("MERGE_ROUNDS", "12"))
    for seed in range(rounds):
        chance = random.Random(seed)
        files = made_files(folder, seed)
        inputs = [file.path for file in files]
        rules, words = random_rules(chance)
        compare(folder, files, inputs, rules, words, f"seed {seed}")
        # The same of a file that all are merged into already.
        merge(*inputs, "-o", folder / "all.json", "--force", "--mix-runs")
        whole = (folder / "all.json").read_bytes()
        said = merge(folder / "all.json", "-o", folder / "all.json", "--force", "--rank", "1", code=1).stderr
        check("refused to replace an input by a part of it: " in said and (folder / "all.json").read_bytes() == whole, said)
        others = folder / "others.json"
        others.write_text('[{"name": "a", "ph": "X", "ts": 1, "dur": 1, "pid": 0, "tid": 0, "cat": "c"}]')
        before = others.read_bytes()
        said = merge(others, "-o", others, "--force", "--category", "c", code=1).stderr
        check("refused to replace an input by a part of it: " in said and others.read_bytes() == before, said)
        others.unlink()
        # Before it is read: who waited for minutes would hear of a rank first.
        said = merge(*inputs, "-o", folder / "all.json", "--mix-runs", "--rank", "99", code=1).stderr
        check("File exists: give --force, or" in said and (folder / "all.json").read_bytes() == whole, said)
        whole = document_of(folder / "all.json")
        events = [event | {"ts": merge_model.ns_of(event["ts"])} |
                  ({"dur": merge_model.ns_of(event["dur"])} if "dur" in event else {})
                  for event in whole["traceEvents"] if event["ph"] != "M"]
        joined = File(folder / "all.json", 0, whole["baseTimeNanoseconds"], events)
        document = compare(folder, [joined], [joined.path], rules, words, f"merged, seed {seed}")
        if document is None:
            continue
        ranks = sorted({file.rank for file in files} & (rules.ranks or {file.rank for file in files}))
        check(document["distributedInfo"]["ranks"] == ranks, f"ranks {document['distributedInfo']}")
        names = [event["pid"] for event in document["traceEvents"] if event["name"] == "process_name"]
        check(names == ranks, f"metadata events of {names}")


def slices(folder, name, rank, times, node=0, category="c", extra=()):
    """[(begin, end)] in microseconds become X events "e<begin>"."""
    events = [{"ts": begin * 1000, "dur": (end - begin) * 1000, "ph": "X", "cat": category, "name": f"e{begin}",
               "pid": rank, "tid": 1, "args": {}} for begin, end in times]
    events = sorted([*events, *extra], key=lambda event: event["ts"])
    return File(folder / name, rank, BASE, events, node).write()


def names_and_times(path):
    return [(e["name"], e["ts"], e.get("dur")) for e in document_of(path)["traceEvents"] if e["ph"] != "M"]


def test_window_by_hand(folder):
    path = slices(folder, "w.json", 0, [(0, 10), (0, 100), (10, 11), (20, 30), (29, 40), (30, 31), (31, 32)])
    out = folder / "out.json"
    whole = [("e0", 0, 10), ("e0", 0, 100), ("e10", 10, 1), ("e20", 20, 10), ("e29", 29, 11), ("e30", 30, 1)]
    for words in (["+10us", "+30us"], ["1700000000000010", "1700000000000030.000"], ["-90us", "+30us"],
                  ["2023-11-14T22:13:20.00001", "2023-11-14 22:13:20.00003Z"],
                  ["22:13:20.00001", "22:13:20.00003"], ["2023-11-14T23:13:20.00001+01:00", "-70us"]):
        merge(path, "-o", out, "--force", "--time", *words)
        check(names_and_times(out) == whole, f"{words}: {names_and_times(out)}")
    merge(path, "-o", out, "--force", "--time", "23:13:20.00001", "+30us", zone="Europe/Berlin")
    check(names_and_times(out) == whole, f"local time: {names_and_times(out)}")
    merge(path, "-o", out, "--force", "--time", "+10us", "+30us", "--clip")
    cut = [("e0", 10, 0), ("e0", 10, 20), ("e10", 10, 1), ("e20", 20, 10), ("e29", 29, 1), ("e30", 30, 0)]
    check(names_and_times(out) == cut, f"clip: {names_and_times(out)}")
    about = document_of(out)
    told = about["traceagent"]
    check(told["left_out"] == {"time": 1} and told["clipped"] == 4, f"one is out, four are there: {told}")
    checked = subprocess.run([TRACEAGENT, "check", out], capture_output=True, text=True).stdout
    check("by who merged: time 1; 4 more are there, cut at the edges" in checked, f"check: {checked}")
    check(about["selections"] == [{"time": ["+10us", "+30us"], "begin_ns": BASE + 10_000, "end_ns": BASE + 30_000,
                                   "clip": True}], str(about["selections"]))
    for words in (["+10us", "soon"], ["10us", "+30us"], ["+10", "+30us"], ["25:00", "end"], ["2023-13-01", "end"]):
        check("not a time" in merge(path, "-o", out, "--force", "--time", *words, code=2).stderr, str(words))
    merge(path, "-o", out, "--clip", code=2)


def test_arrows_and_counters_by_hand(folder):
    """Two launches and their kernels, the first before the window; a counter that changes before and in it."""
    def point(ph, ts, tid, flow):
        return {"ts": ts * 1000, "ph": ph, "id": flow, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": tid}

    def counter(ts, value):
        return {"ts": ts * 1000, "ph": "C", "name": "cpu", "pid": 0, "tid": 0, "args": {"%": value}}

    extra = [point("s", 1, 1, 5), point("f", 50, 2, 5), point("s", 40, 1, 6), point("f", 60, 2, 6),
             counter(2, 10), counter(3, 20), counter(45, 30)]
    extra += [{"ts": begin * 1000, "dur": 5000, "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 2,
               "args": {}} for begin in (50, 60)]
    path = slices(folder, "a.json", 0, [(1, 4), (40, 44)], category="cuda_runtime", extra=extra)
    out = folder / "out.json"

    def phases():
        return [(e["ph"], e["ts"]) for e in document_of(out)["traceEvents"] if e["ph"] in "sfC"]
    merge(path, "-o", out, "--force", "--time", "+29us", "end")
    check(phases() == [("s", 40), ("C", 45), ("f", 60)], f"window: {phases()}")
    merge(path, "-o", out, "--force", "--time", "+29us", "end", "--clip")
    check(phases() == [("C", 30), ("s", 40), ("C", 45), ("f", 60)], f"clip: {phases()}")
    merge(path, "-o", out, "--force", "--category", "kernel")
    check(phases() == [], f"kernels alone: {phases()}")
    for words in (["kernel", "--category", "cuda_runtime"], ["kernel, cuda_runtime "]):
        merge(path, "-o", out, "--force", "--category", *words)
        check(phases() == [("s", 1), ("s", 40), ("f", 50), ("f", 60)], f"both ends, {words}: {phases()}")


def test_out_of_order(folder):
    """In a damaged file: what is chosen is known by its place among the events that the merge takes."""
    events = [{"ts": begin * 1000, "dur": 5000, "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 2, "args": {}}
              for begin in (1, 40, 50, 60)]
    events += [{"ts": ts * 1000, "ph": ph, "id": flow, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 2}
               for ph, ts, flow in (("s", 2, 5), ("f", 51, 5), ("s", 41, 6), ("f", 61, 6))]
    events.sort(key=lambda event: event["ts"])
    digit_lost = {"ts": 4000, "ph": "s", "id": 8, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 2}
    events[3:3] = [digit_lost]
    path = File(folder / "o.json", 0, BASE, events).write()
    out = folder / "out.json"
    merge(path, "-o", out, "--force", "--time", "+29us", "end", code=1)
    document = document_of(out)
    got = [(e["ph"], e["ts"]) for e in document["traceEvents"] if e["ph"] in "sf"]
    check(got == [("s", 41), ("f", 61)], f"out of order: {got}")
    check(document["traceagent"]["dropped"].get("not_in_order") == 1, f"out of order: {document['traceagent']}")


def test_steps_by_hand(folder):
    """The window is that of the first rank to begin a step, up to the first that begins the other."""
    paths = [slices(folder, f"s{rank}.json", rank, [(shift + at, shift + at + 5) for at in range(0, 50, 10)], extra=[
        {"ts": (shift + step * 10) * 1000, "dur": 10_000, "ph": "X", "cat": "user_annotation",
         "name": f"ProfilerStep#{step + 7}", "pid": rank, "tid": 4, "args": {}} for step in range(5)])
        for rank, shift in ((0, 0), (1, 2))]
    out = folder / "out.json"

    def steps_in(*words):
        merge(*paths, "-o", out, "--force", *words)
        return [(name, ts) for name, ts, _ in names_and_times(out)]
    expected = [("ProfilerStep#7", 0), ("ProfilerStep#7", 2), ("ProfilerStep#8", 10), ("ProfilerStep#8", 12)]
    got = [row for row in steps_in("--steps", 8, 9) if row[0].startswith("Profiler")]
    check(got == expected, f"step 8: {got}")
    check(len(steps_in("--steps", 8, 9)) == 6, "and the slices of step 8")
    check(len([row for row in steps_in("--steps", 10, 99) if row[0].startswith("e")]) == 4, "to the end")
    cut = steps_in("--steps", 8, 9, "--clip", "--rank", "1")
    check(sorted(cut) == [("ProfilerStep#7", 12), ("ProfilerStep#8", 12), ("e12", 12)], f"of one rank, cut: {cut}")
    check(steps_in("--steps", "008", "009") == steps_in("--steps", 8, 9), "decimal, whatever they begin with")
    for word in ("08x", "0x8", "8.5", "", "99999999999999999999"):
        said = merge(*paths, "-o", out, "--force", "--steps", 1, word, code=2).stderr
        check(f"not a whole number: {word}: give one such as 20" in said, said)
    result = merge(*paths, "-o", folder / "none.json", "--steps", 20, 30, code=1)
    check("no events: no step from 20 up to 30" in result.stderr and "11" in result.stderr, result.stderr)
    check(not (folder / "none.json").exists(), "an empty window")
    check("step 8 alone give 8 9" in merge(*paths, "-o", out, "--steps", 8, 8, code=2).stderr, "8 8")


def test_steps_of_one_rank(folder):
    """Rank 1 is three steps behind: its steps are its own, as files of ranks and in one file."""
    paths = [slices(folder, f"a{rank}.json", rank, [], extra=[
        {"ts": (shift + step * 10) * 1000, "dur": 8_000, "ph": "X", "cat": "user_annotation",
         "name": f"ProfilerStep#{step}", "pid": rank, "tid": 4, "args": {}} for step in range(6)])
        for rank, shift in ((0, 0), (1, 30))]
    both, out = folder / "both.json", folder / "out.json"
    merge(*paths, "-o", both)
    for inputs in (paths, [both]):
        for rank, shift in ((0, 0), (1, 30)):
            merge(*inputs, "-o", out, "--force", "--rank", rank, "--steps", 1, 3)
            got = [(name, ts) for name, ts, _ in names_and_times(out)]
            check(got == [(f"ProfilerStep#{step}", shift + step * 10) for step in (1, 2)], f"rank {rank} of {inputs}: {got}")
        said = merge(*inputs, "-o", out, "--force", "--rank", 7, "--steps", 1, 3, code=1).stderr
        check("no steps: --steps 1 3: no input of these ranks marks any" in said, said)


def test_steps_counted_in_several_ways(folder):
    """What one rank calls step 12 is over where another one begins step 10: there is no one window, in one file or two."""
    paths = [slices(folder, f"c{rank}.json", rank, [], extra=[
        {"ts": (shift + step * 10) * 1000, "dur": 8_000, "ph": "X", "cat": "user_annotation",
         "name": f"ProfilerStep#{first + step}", "pid": rank, "tid": 4, "args": {}} for step in range(4)])
        for rank, shift, first in ((0, 20, 10), (1, 0, 12))]
    both, out = folder / "both.json", folder / "out.json"
    merge(*paths, "-o", both)
    for inputs in (paths, [both]):
        said = merge(*inputs, "-o", out, "--force", "--steps", 10, 12, code=1).stderr
        expected = (f"steps counted in several ways: --steps 10 12: rank 1 ({inputs[-1]}) begins step 12 before rank 0 "
                    f"({inputs[0]}) begins step 10: give --rank with those that count alike, or --time")
        check(expected in said and not out.exists(), f"{inputs}: {said}")
    merge(both, "-o", out, "--steps", 10, 12, "--rank", 0)
    check(sorted(name for name, _, _ in names_and_times(out)) == ["ProfilerStep#10", "ProfilerStep#11"], "of one rank")
    # Others' are named as they were given.
    for rank, first in ((0, 10), (1, 12)):
        document = {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": BASE, "traceEvents": [
            {"ts": (1 - rank) * 50 + step, "dur": 1, "ph": "X", "name": f"ProfilerStep#{first + step}", "pid": 1, "tid": 1}
            for step in range(4)]}
        (folder / f"pt{rank}.json").write_text(json.dumps(document))
    said = merge(folder / "pt0.json", folder / "pt1.json", "-o", out, "--force", "--steps", 10, 12, code=1).stderr
    check("rank 1 (pt1.json) begins step 12 before rank 0 (pt0.json) begins step 10" in said, said)


def test_numbers(folder):
    path = slices(folder, "d.json", 0, [(0, 10)])
    out = folder / "out.json"
    for word in ("nan", "inf", "-1", "1001", "x", ""):
        said = merge(path, "-o", out, "--force", "--max-drift", word, code=2).stderr
        check(f"not a drift: {word}: give 0 to 1000 ppm" in said, said)
    merge(path, "-o", out, "--force", "--max-drift", "2.5e1", "--gzip", "--level", "01")
    for word in ("0", "10", "1x"):
        merge(path, "-o", out, "--force", "--gzip", "--level", word, code=2)
    merge(folder, "-o", out, "--force", "--suffix", "*d.json,*.none")


def test_empty(folder):
    path = slices(folder, "e.json", 0, [(0, 10), (20, 30)])
    out = folder / "out.json"
    for words, said in ((["--time", "+1s", "+2s"], "lies between 2023-11-14 22:13:21.000000000"),
                        (["--category", "kernel"], "nothing is of what was asked for"),
                        (["--steps", 3, 4], "no steps: --steps 3 4: ")):
        result = merge(path, "-o", out, *words, code=1)
        check(result.stderr.count("\n") == 1 and said in result.stderr and not out.exists(), f"{words}: {result}")
        check("--steps" in words or f"nothing was written into {out}: no events: " in result.stderr, f"{words}: {result}")
        check("--steps" in words or "(0.000030 s)" in result.stderr, f"{words}: {result}")
    nothing = slices(folder, "n.json", 2, [])
    said = merge(path, nothing, "-o", out, "--rank", "2").stdout
    check("no events: nothing is of what was asked for" in said and out.exists(), f"a rank without events: {said}")
    # Of several nodes' files those are written that have any.
    other = slices(folder, "o.json", 1, [(50, 60)], node=1)
    result = merge(path, other, "-o", folder / "by", "--per-node", "--time", "+45us", "end")
    check(not (folder / "by/node0.json").exists() and names_and_times(folder / "by/node1.json") == [("e50", 50, 10)]
          and "by/node0.json: no events: " in result.stdout, f"{result}")
    said = merge(path, "-o", out, "--force", "--category", "cc,kernel,c").stdout
    check([line for line in said.splitlines() if "category" in line] ==
          ["no event has the category cc: the nearest is c", "no event has the category kernel: there is none like it"],
          said)
    path_of_kernels = slices(folder, "k.json", 1, [(0, 10)], category="kernel")
    said = merge(path, path_of_kernels, "-o", out, "--force", "--category", "kernl", code=1).stdout
    check("no event has the category kernl: the nearest is kernel\n" in said, said)
    check("bad output: -: " in merge(path, "-o", "-", code=2).stderr and not pathlib.Path("-").exists(), "no file named -")
    merge(path, "-o", folder / "none.json", "--rank", "5", code=1)
    check(not (folder / "none.json").exists(), "no file of no rank")
    merge(path, "-o", out, "--rank", "5-3", code=2)


def test_ranks_that_nobody_has(folder):
    paths = [slices(folder, f"n{rank}.json", rank, [(0, 10)], node=rank // 2) for rank in (0, 1, 4)]
    out = folder / "out.json"
    for words, missing in ((["0-2,9"], "2, 9"), (["0,3-4", "--rank", "6-10"], "3, 6-10"),
                           (["0-999999999999"], "2-3, 5-999999999999"), (["4,0-1"], ""),
                           (["4,7", "--time", "+1s", "+2s"], "7"), (["0,4,7", "--per-node"], "7")):
        output = folder / "nodes" if "--per-node" in words else out
        said = merge(*paths, "-o", output, "--force", "--rank", *words, code=1 if "--time" in words else 0).stdout
        told = [line for line in said.splitlines() if line.startswith("no file ")]
        check(told == ([f"no file that was read has a rank of {missing}"] if missing else []), f"{words}: {said}")


def test_rank_of_a_file_in_a_folder(folder):
    """By its path, or by its name where that is one file's."""
    event = '[{"name": "a", "ph": "X", "ts": 1, "dur": 1, "pid": 0, "tid": 0, "cat": "c"}]'
    for name in ("f/a.pt.trace.json", "f/g/b.json", "f/g/h/b.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(event.replace("1", str(len(name))))
    out = folder / "out.json"
    merge(folder / "f", "-o", out, "--rank", "a.pt.trace.json=7")
    check(document_of(out)["distributedInfo"]["rank"] == 7, f"{document_of(out)['distributedInfo']}")
    said = merge(folder / "f", "-o", out, "--force", "--rank", "b.json=7", code=2).stderr
    check("--rank names no input: b.json: give one that others wrote, by its path as the merge names it" in said, said)
    said = merge("-r", folder / "f", "-o", out, "--force", "--rank", "b.json=7", code=2).stderr
    check(f"--rank names several inputs: b.json: give the path of one: {folder}/f/g/b.json or " in said, said)


if __name__ == "__main__":
    sys.exit(run(globals()))
