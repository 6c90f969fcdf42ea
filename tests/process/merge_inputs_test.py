#!/usr/bin/env python3
"""Which files `traceagent merge` takes and gives: folders, suffixes, nodes, an output that is an input;
and what it shows on a terminal."""
import gzip
import json
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time

from merge_cases import BASE, TRACEAGENT, check, composer_file, document_of, merge, pytorch_file, rank_file, ranks_in, run
from places import SOURCE


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
    # One that an older merge left beside what it was made of: rank files, or the nodes' files.
    for place, inputs in (("n", [folder / "n"]), ("by", [folder / "by/node0.json", folder / "by/node1.json"])):
        older = folder / place / "older.json"
        merge(*inputs, "-o", older)
        said = merge("-r", *inputs, older, "--per-node", "-o", folder / f"again-{place}")
        check([ranks_in(folder / f"again-{place}/node{node}.json") for node in (0, 1)] == [[0, 1], [2, 3]], f"{said}")
        check(f"left out: {older}: it is of several nodes, and " in said.stdout, f"{said}")
    # What it alone holds cannot be divided.
    (folder / "n/r3.json").unlink()
    said = merge("-r", folder / "n", "--per-node", "-o", folder / "less", code=1)
    check([ranks_in(folder / f"less/node{node}.json") for node in (0, 1)] == [[0, 1], [2]], f"{said}")
    check(f"a file of several nodes: {folder}/n/older.json: left out, and no other file holds all of it" in said.stderr
          and said.stderr.count("\n") == 1, f"{said}")
    said = merge("-r", folder / "n", "--per-node", "--strict", "-o", folder / "strict", code=1)
    check("nothing was written: " in said.stderr and not list((folder / "strict").glob("*.json")), f"{said}")
    for name in ("one.json", "{node_rank}/x.json", "{run_name}-{node_rank}.json", "{node_rank}{epoch}.json"):
        merge(folder / "n", "--per-node", "-o", folder / name, code=2)


def job_file(path, rank, local_rank, node, of_node, of_job):
    """With what the agent writes of the job."""
    rank_file(path, rank, node, times=(rank, 100))
    whole = {"rank": rank, "local_rank": local_rank, "world_size": of_job, "local_world_size": of_node, "node_rank": node,
             "run_key": "slurm7"}
    path.write_text(path.read_text().replace(f'"identity": {{"rank": {rank}}}', f'"identity": {json.dumps(whole)}')
                    .replace('"world_size": 8, ', f'"world_size": {of_job}, ').replace(f'"run{node}"', '"slurm7"'))
    return path


def page_of(*paths):
    done = subprocess.run([TRACEAGENT, "check", *paths], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def test_ranks_of_the_job(folder):
    """Those of which no file is given are told, once, and the output says so; a node's file has its node's."""
    one = [job_file(folder / f"one/r{rank}.json", rank, rank, 0, 4, 4) for rank in range(4)]
    out = folder / "out.json"
    said = merge(*one[:2], "-o", out).stdout
    check([line for line in said.splitlines() if line.startswith("missing: ranks 2-3 of the job's 4: ")] and
          said.count("missing") == 1, said)
    document = document_of(out)
    check(document["traceagent"]["missing_ranks"] == [2, 3] and not document.get("complete"), f"{document['traceagent']}")
    check("NO   ranks                 missing: ranks 2-3 of the job's 4: " in page_of(out), page_of(out))
    said = merge(out, one[2], "-o", folder / "three.json").stdout
    check("missing: rank 3 of the job's 4: " in said, said)
    said = merge(folder / "three.json", one[3], "-o", folder / "four.json").stdout
    check("missing" not in said and document_of(folder / "four.json")["complete"], said)
    check("yes  ranks                 all of the job's 4 are here" in page_of(folder / "four.json"), page_of(folder / "four.json"))
    # Who asks for ranks has them.
    said = merge(*one[:2], "-o", folder / "asked.json", "--rank", "0-1").stdout
    check("missing" not in said and document_of(folder / "asked.json")["complete"], said)
    check("yes  ranks                 not here: ranks 2-3 of the job's 4" in page_of(folder / "asked.json"),
          page_of(folder / "asked.json"))
    check("missing: rank 1 of the job's 4: " in merge(one[0], "-o", folder / "part.json", "--rank", "0-1").stdout, "asked for")
    check("missing" not in page_of(folder / "one").replace("nothing is missing", ""), page_of(folder / "one"))
    one[3].unlink()
    check(f"{folder}/one: missing: rank 3 of the job's 4: " in page_of(folder / "one"), page_of(folder / "one"))

    # A node's are whole by themselves, dealt in a row or round; of several nodes all ranks are wanted.
    for name, ranks in (("row", (0, 1, 2, 3)), ("round", (0, 2, 1, 3))):
        two = [job_file(folder / name / f"r{rank}.json", rank, at % 2, at // 2, 2, 4) for at, rank in enumerate(ranks)]
        node = folder / name / "node0.json"
        said = merge(*two[:2], "-o", node).stdout
        check("missing" not in said and "of node 0 alone: 2 of the job's 4 ranks" in said and document_of(node)["complete"], said)
        check("yes  ranks                 all 2 of node 0 are here, of the job's 4: " in page_of(node), page_of(node))
        said = merge(two[0], "-o", folder / name / "half.json").stdout
        check("missing: local rank 1 of node 0's 2: " in said and said.count("missing") == 1, said)
        check("NO   incomplete            ranks of node 0: no file of local rank 1 of node 0's 2: " in page_of(folder / name / "half.json"), said)
        said = merge(two[0], "-o", folder / name / "asked.json", "--rank", "0").stdout
        check("missing" not in said and document_of(folder / name / "asked.json")["complete"], said)
        said = merge(folder / name / "asked.json", "-o", folder / name / "again.json").stdout
        check("missing" not in said and document_of(folder / name / "again.json")["complete"], said)
        said = merge(folder / name / "half.json", "-o", folder / name / "again.json", "--force").stdout
        check(not document_of(folder / name / "again.json").get("complete"), said)
        said = merge(folder / name / "half.json", two[1], "-o", folder / name / "both.json").stdout
        check("missing" not in said and document_of(folder / name / "both.json")["complete"], said)
        said = merge(node, two[2], "-o", folder / name / "three.json").stdout
        check("missing: rank 3 of the job's 4: " in said, said)
        said = merge(*two[:3], "-o", folder / name / "by", "--per-node").stdout
        check("missing: rank 3 of the job's 4: " in said and said.count("missing") == 1 and "alone" not in said, said)
        nodes = [document_of(folder / name / f"by/node{node}.json") for node in (0, 1)]
        check(nodes[0]["complete"] and nodes[1]["traceagent"]["missing_ranks"] == [] and "local rank 1 of node 1's 2" in
              nodes[1]["traceagent"]["incomplete"][0]["problem"], f"{nodes[1]['traceagent']}")


def missing_in(*paths):
    """Of several files or folders: the lines of ranks that are missing."""
    return [line for line in page_of(*paths).splitlines() if ": missing: " in line]


def test_ranks_of_the_job_in_folders(folder):
    """Several folders are looked at as one, those of each job by themselves; files beside them count."""
    files = [job_file(folder / f"rank{rank}/t.json", rank, rank, 0, 4, 4) for rank in range(4)]
    places = [path.parent for path in files]
    for inputs in (places, [places[3], *places], [files[0], *places[1:]], ["-r", folder]):
        check(missing_in(*inputs) == [], f"{inputs}: {missing_in(*inputs)}")
    said = missing_in(*places[:3])
    check(len(said) == 1 and said[0].startswith(f"{places[0]}, {places[1]}, {places[2]}: missing: rank 3 of the job's 4: "), f"{said}")
    other = job_file(folder / "other/t.json", 1, 1, 0, 2, 2)
    other.write_text(other.read_text().replace("slurm7", "slurm8"))
    said = missing_in(*places, other.parent)
    check(len(said) == 1 and said[0].startswith(f"{other.parent}: missing: rank 0 of the job's 2: "), f"{said}")
    # Files alone may be meant so.
    for inputs in (files[:2], [*places, other]):
        check(missing_in(*inputs) == [], f"{inputs}: {missing_in(*inputs)}")
    many = [job_file(folder / f"many{rank}/t.json", rank, rank, 0, 8, 8).parent for rank in range(6)]
    said = missing_in(*many)
    check(len(said) == 1 and said[0].startswith(f"{many[0]}, {many[1]}, {many[2]}, {many[3]} and 2 more: missing: ranks 6-7 "), f"{said}")


def test_ranks_of_the_job_without_events(folder):
    """Where nothing is written, which ranks are missing may be why."""
    one = [job_file(folder / f"r{rank}.json", rank, rank, 0, 4, 4) for rank in range(2)]
    out = folder / "out.json"
    for words in (["-o", out], ["-o", folder, "--per-node"]):
        said = merge(*one, *words, "--time", "+1s", "+2s", code=1).stdout
        check(said.count("missing: ranks 2-3 of the job's 4: ") == 1 and said.count("missing") == 1, f"{words}: {said}")
    said = merge(*one, "-o", out, "--time", "+1s", "+2s", "--rank", "0-2", code=1).stdout
    check("missing: rank 2 of the job's 4: " in said and "no file that was read" not in said, said)


def test_a_node_without_events(folder):
    """Of several nodes what is missing is told of all together, also of those of which nothing was chosen."""
    paths = [job_file(folder / f"r{rank}.json", rank, 0, rank, 1, 3) for rank in range(3)]
    paths[2].write_text(paths[2].read_text().replace(f'"baseTimeNanoseconds": {BASE}', f'"baseTimeNanoseconds": {BASE + 3_000_000_000}'))
    said = merge(*paths, "-o", folder / "by", "--per-node", "--time", "+0s", "+1s")
    check("missing" not in said.stdout and "nothing was written into" in said.stdout, f"{said}")
    said = merge(*paths[1:], "-o", folder / "less", "--per-node", "--time", "+0s", "+1s")
    check(said.stdout.count("missing: rank 0 of the job's 3: ") == 1 and said.stdout.count("missing") == 1, f"{said}")


def test_what_is_left_out_of_nodes(folder):
    """A merged file of several nodes decides neither the times nor the clocks of those that are written."""
    later = 3_000_000_000
    paths = [job_file(folder / f"n/r{rank}.json", rank, rank % 2, rank // 2, 2, 4) for rank in range(4)]
    for path in paths[2:]:
        path.write_text(path.read_text().replace(f'"baseTimeNanoseconds": {BASE}', f'"baseTimeNanoseconds": {BASE + later}'))
    merge(*paths, "-o", folder / "all.json")
    for given, code in (([], 0), ([folder / "all.json"], 1)):
        said = merge(*paths[:2], *given, "--per-node", "-o", folder / f"by{code}", "--time", "-1ms", "end", code=code)
        check((folder / f"by{code}/node0.json").exists(), f"{given}: {said}")
        clocks = [line for line in said.stdout.splitlines() if "clock" in line]
        check(clocks == [], f"{given}: {clocks}")
    whole, beside = (document_of(folder / f"by{code}/node0.json") for code in (0, 1))
    check(whole["traceEvents"] == beside["traceEvents"] and
          whole["traceagent"].get("clocks") == beside["traceagent"].get("clocks"), f"{beside['traceagent']}")


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


def test_a_rank_of_two_hosts(folder):
    """Each says that it is rank 0: nothing is lost, but it is told, and the merged file says it too."""
    files = [pytorch_file(folder / f"{host}.json", 0, times=range(at, at + 5)) for host, at in (("a", 0), ("b", 100))]
    for path in files:
        path.write_text(path.read_text().replace('"schemaVersion": 1', f'"schemaVersion": 1, "host_name": "{path.stem}"'))
    out = folder / "out.json"
    mixed = "is of two hosts, a and b, whose lanes and arrows are mixed: a.json and b.json: tell their ranks by --rank FILE=N"
    said = merge(*files, "-o", out)
    check(f"mixed: rank 0 {mixed}" in said.stdout and not said.stderr, f"two hosts: {said}")
    document = document_of(out)
    [fault] = document["traceagent"]["incomplete"]
    check(fault["file"] == "rank 0" and fault["problem"].startswith(mixed) and "complete" not in document, f"{fault}")
    said = merge(*files, "-o", out, "--force", "--rank", f"{files[1]}=1")
    check("mixed" not in said.stdout and document_of(out).get("complete") is True, f"told apart: {said}")


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


if __name__ == "__main__":
    sys.exit(run(globals()))
