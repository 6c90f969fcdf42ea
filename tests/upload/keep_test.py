#!/usr/bin/env python3
"""output.keep where files share a name, where ranks come late or do not see each other, and while others merge:
no cycle that nobody else holds goes."""
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import jobs  # noqa: E402
from jobs import STEADY, TRACEAGENT, Checks, calls_in, end_of, steps_in, wait_until  # noqa: E402

checks = Checks()
check = checks.check


class Place(jobs.Place):
    """Whose folder goes when no uploader writes there any more."""

    def __exit__(self, *_):
        check(wait_until(lambda: not jobs.processes_naming(self.path)), "the uploaders end")
        super().__exit__()


def settings(cycles, keep, **more):
    return {"TRACEAGENT_SCHEDULE": f"wait=1,warmup=1,active=2,repeat={cycles}", "TRACEAGENT_OUTPUT_FOLDER": "out",
            "TRACEAGENT_OUTPUT_KEEP": keep} | more


def rank_files(place):
    return sorted(path.name for path in (place.path / "out").glob("*-rank*.json"))


def ranks_in(trace):
    return {event["pid"] for event in calls_in(trace)}


def keep_lock(place):
    """Held as by a merge in another container, until it is closed."""
    folder = place.path / "out/.traceagent-upload"
    folder.mkdir(mode=0o700, parents=True)
    lock = open(os.open(folder / "keep.lock", os.O_RDWR | os.O_CREAT, 0o600), "rb+")
    fcntl.lockf(lock, fcntl.LOCK_SH)
    return lock


def ended_well(ends, what):
    check(all(end.code == 3 and not end.own_err() for end in ends), f"{what}: {ends}")


def test_one_name_for_all_cycles():
    for keep in (1, 0):
        with Place() as place:
            end = place.run([STEADY, 40, 5, 5000], place.agent(**settings(
                6, keep, TRACEAGENT_OUTPUT_OVERWRITE="true", TRACEAGENT_OUTPUT_FILENAME="latest-rank{rank}.json")))
            ended_well([end], "one name")
            check(rank_files(place) == ["latest-rank0.json"][:keep], f"one name, keep {keep}: {rank_files(place)}")
            check(len(steps_in(place.trace("out/node0.json"))) == 2, f"one name, keep {keep}: the node's file")


def separate(place, variables, rank):
    rings = place.rings / f"container{rank}"
    rings.mkdir()
    return variables | {"TRACEAGENT_RING_FOLDER": str(rings)}


def test_separate_memory():
    """Rank 1 ends when rank 0 has merged, and removed its file."""
    with Place() as place:
        zero, one = (separate(place, variables, rank) for rank, variables in
                     enumerate(place.ranks(2, **settings(2, 0))))
        slow = place.start([STEADY, 20, 5, 400_000], one)
        ends = [place.run([STEADY, 20, 5, 5000], zero)]
        check(slow.poll() is None and rank_files(place) == [], f"separate: too early: {rank_files(place)}")
        ends.append(end_of(slow))
        ended_well(ends, "separate")
        node = place.trace("out/node0.json")
        check(ranks_in(node) == {0, 1} and node["complete"] is True, f"separate: {ranks_in(node)}: {ends}")
        check(rank_files(place) == [], f"separate: {rank_files(place)}")


CAN_NAME_HOSTS = subprocess.run(["unshare", "--uts", "hostname", "a"], capture_output=True).returncode == 0


def on_host(name, command):
    return ["unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh", *command]


def test_hosts_of_their_own():
    """Each rank in a container with a name of its own, so with a queue of its own: who merges tells the others', and
    starts those uploaders that have ended."""
    if not CAN_NAME_HOSTS:
        return print("hosts of their own: not tested: this user may not name one")
    with Place() as place:
        there = place.path / "there"
        zero, one = (separate(place, variables, rank) for rank, variables in enumerate(place.ranks(
            2, **settings(2, 0, TRACEAGENT_OUTPUT_REMOTE=f"{there}/", TRACEAGENT_UPLOAD_WAIT="20s"))))
        # Rank 1's uploader ends two seconds after its last file, long before rank 0 merges.
        slow = place.start(on_host("host-zero", [STEADY, 20, 5, 200_000]), zero)
        ends = [place.run(on_host("host-one", [STEADY, 20, 5, 5000]), one), end_of(slow)]
        ended_well(ends, "hosts")
        journals = sorted(path.name for path in (place.path / "out/.traceagent-upload").glob("*.journal"))
        check(journals == ["host-one.journal", "host-zero.journal"], f"hosts: {journals}")
        check(ranks_in(place.trace("out/node0.json")) == {0, 1}, f"hosts: {ends}")
        check(wait_until(lambda: not rank_files(place)), f"hosts: {rank_files(place)}: {ends}")
        check(len(list(there.iterdir())) == 4, f"hosts: {sorted(there.iterdir())}")


def of_nodes(variables):
    """Each rank is a node of its own, on this host."""
    return [rank | {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": str(node)}
            for node, rank in enumerate(variables)]


def test_two_nodes_of_one_host():
    """They have one queue. Node 1 runs on when node 0 is merged: its newest file waits for its own merge."""
    with Place() as place:
        there = place.path / "there"
        zero, one = of_nodes(place.ranks(2, **settings(
            2, 0, TRACEAGENT_OUTPUT_REMOTE=f"{there}/", TRACEAGENT_UPLOAD_WAIT="20s")))
        runs_on = place.start([STEADY, 100, 5, 100_000], one)
        index = place.path / "out/index/index.json"
        saved = lambda: index.exists() and index.read_text().count('"saved"') == 2  # noqa: E731
        check(wait_until(lambda: saved() and len(list(there.glob("ep*"))) == 2), "two nodes: node 1's cycles are there")
        runs_on.send_signal(signal.SIGSTOP)
        check(runs_on.poll() is None, "two nodes: node 1 has ended too early")
        ends = [place.run([STEADY, 20, 5, 5000], zero)]
        check(wait_until(lambda: not list((place.path / "out").glob("*-rank0.json"))), f"two nodes: node 0: {ends}")
        check(len(rank_files(place)) == 1, f"two nodes: node 1's newest: {rank_files(place)}: {ends}")
        runs_on.send_signal(signal.SIGCONT)
        ends.append(end_of(runs_on))
        ended_well(ends, "two nodes")
        for node in range(2):
            trace = place.trace(f"out/node{node}.json")
            check(ranks_in(trace) == {node} and len(steps_in(trace)) >= 2, f"two nodes: node {node}: {ends}")
        check(wait_until(lambda: not rank_files(place)), f"two nodes: {rank_files(place)}: {ends}")
        check(len(list(there.glob("[!.]*"))) == 4, f"two nodes: {sorted(there.iterdir())}")


def foreign_trace(path, rank):
    events = [{"ph": "X", "cat": "cpu_op", "name": f"foreign {rank} {i}", "pid": 4037, "tid": 1, "ts": i, "dur": 1}
              for i in range(10)]
    path.write_text(json.dumps({"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": time.time_ns(),
                                "traceEvents": events}))


def test_one_after_the_other():
    """With other profilers' traces, each of which goes into the node's file once and stays where it is: one from
    before the run, and one that comes into its folder when the first rank has merged, named as our own files are."""
    with Place() as place:
        zero, one = place.ranks(2, **settings(
            2, 0, TRACEAGENT_MERGE_INCLUDE=f"{place.path}/early.json, *-rank*.json"))
        early, dropped = place.path / "early.json", place.path / "out/ep9-ba9-rank1.json"
        foreign_trace(early, 0)
        ends = [place.run([STEADY, 20, 5, 5000], zero)]
        foreign_trace(dropped, 1)
        ends.append(place.run([STEADY, 20, 5, 5000], one))
        ended_well(ends, "one after the other")
        node = place.trace("out/node0.json")
        check(ranks_in(node) == {0, 1}, f"one after the other: {ranks_in(node)}: {ends}")
        names = [event["name"] for event in node["traceEvents"] if event["name"].startswith("foreign")]
        check(sorted(names) == [f"foreign {rank} {i}" for rank in range(2) for i in range(10)],
              f"one after the other: {names}: {ends}")
        check(early.exists() and rank_files(place) == [dropped.name], f"one after the other: {rank_files(place)}")


def test_recovered():
    """Rank 1 is killed when rank 0 has merged, and removed its file."""
    with Place() as place:
        zero, one = place.ranks(2, **settings(2, 0))
        ended_well([place.run([STEADY, 20, 5, 5000], zero)], "recovered")
        check(rank_files(place) == [], f"recovered: {rank_files(place)}")
        running = place.start([STEADY, 1000, 5, 10_000], one)
        running.stdout.readline()
        while not running.stdout.readline().startswith("step 20") and running.poll() is None:
            pass
        running.kill()
        end_of(running)
        done = place.run([jobs.TRACEAGENT, "recover", place.rings], jobs.variables_of())
        node = place.trace("out/node0.json")
        check(done.code == 0 and ranks_in(node) == {0, 1}, f"recovered: {ranks_in(node)}: {done}")


def test_while_others_merge():
    """The drain thread does not wait for them: it has a ring to empty. Nothing goes that they may read."""
    began = time.monotonic()
    with Place() as place:
        place.run([STEADY, 60, 5, 5000], place.agent(**settings(12, 1)))
    usual_s = time.monotonic() - began
    with Place() as place:
        lock = keep_lock(place)
        began = time.monotonic()
        end = place.run([STEADY, 60, 5, 5000], place.agent(**settings(12, 1)))
        took_s = time.monotonic() - began
        lock.close()
        # A wait for the lock lasts two seconds: one at the end, not one for each of eleven files.
        check(took_s < 15 + 4 * usual_s, f"while others merge: it waited each time: {took_s:.1f} s of {usual_s:.1f}")
        ended_well([end], "while others merge")
        check(len(rank_files(place)) == 12, f"while others merge: {rank_files(place)}: {end}")
    with Place() as place:
        lock = keep_lock(place)
        end = place.run([STEADY, 20, 5, 5000], place.agent(**settings(1, 0)))
        lock.close()
        check(len(rank_files(place)) == 1, f"both merge: {rank_files(place)}: {end}")
        check(ranks_in(place.trace("out/node0.json")) == {0}, "both merge: the node's file")


def test_while_a_user_merges_the_folder():
    with Place() as place:
        ranks = [place.start([STEADY, 1500, 5, 2000], variables) for variables in place.ranks(4, **settings(0, 3))]
        check(wait_until(lambda: len(rank_files(place)) >= 4), "there are files")
        merges = [place.run([TRACEAGENT, "merge", "out", "-o", f"merged{i}.json"], dict(os.environ)) for i in range(10)]
        check(any(rank.poll() is None for rank in ranks), "the job still runs")
        check([merge.code for merge in merges] == [0] * 10, f"merges: {[merge.err for merge in merges if merge.code != 0]}")
        for rank in ranks:
            rank.kill()
            end_of(rank)


def test_the_lock_is_there_before_a_file():
    """Who merges looks for it first: a file that was there beside no lock could go while it is read."""
    with Place() as place:
        end = place.run([STEADY, 20, 5, 5000], place.agent(**settings(1, 100)))
        ended_well([end], "lock")
        check(len(rank_files(place)) == 1, f"lock: {rank_files(place)}: {end}")
        lock = place.path / "out/.traceagent-upload/keep.lock"
        first = place.path / "out" / rank_files(place)[0]
        check(lock.is_file() and lock.stat().st_mtime_ns <= first.stat().st_mtime_ns, "lock: it came first")
        check(lock.parent.stat().st_mode & 0o777 == 0o700, "lock: its folder is the user's")


def test_the_uploader_waits_for_a_merge():
    """All is uploaded and the run has ended, but another merges: its files go when it is done, as nobody comes
    after the uploader."""
    with Place() as place:
        lock = keep_lock(place)
        end = place.run([STEADY, 20, 5, 5000], place.agent(**settings(
            1, 0, TRACEAGENT_OUTPUT_REMOTE=f"{place.path}/there/", TRACEAGENT_UPLOAD_WAIT="10s")))
        ended_well([end], "uploader waits")
        time.sleep(3)
        check(len(rank_files(place)) == 1, f"uploader waits: {rank_files(place)}: {end}")
        lock.close()
        check(wait_until(lambda: not rank_files(place)), f"uploader waits: {rank_files(place)}: {end}")
        check(len(list((place.path / "there").iterdir())) == 1, "uploader waits: it is there")


def index_of(place):
    return json.loads((place.path / "out/index/index.json").read_text())["entries"]


def test_the_index_tells_what_is_gone():
    """Also of what goes when its job has ended: the server is slower than that."""
    with Place() as place:
        script = place.path / "put"
        script.write_text("#!/bin/sh\nsleep 0.5\n")
        script.chmod(0o700)
        end = place.run([STEADY, 30, 5, 5000], place.agent(**settings(
            4, 1, TRACEAGENT_OUTPUT_REMOTE=f"exec:{script}")))
        ended_well([end], "index")
        check(wait_until(lambda: len(rank_files(place)) == 1), f"index: {rank_files(place)}")
        removed = lambda: [entry["removed"] for entry in index_of(place) if "removed" in entry]  # noqa: E731
        check(wait_until(lambda: len(removed()) >= 3), f"index: {index_of(place)}")
        saved = [entry["saved"] for entry in index_of(place) if "saved" in entry]
        check(len(saved) == 4 and sorted(removed() + rank_files(place)) == sorted(saved), f"index: {index_of(place)}")


def test_said_how_many_cycles_are_not_there():
    """By who makes a file of the others: the job, the last of its ranks where they do not see each other, and who
    recovers. What the node's file before it holds is there."""
    with Place() as place:
        end = place.run([STEADY, 40, 5, 5000], place.agent(**settings(6, 2)))
        said = "; without 4 cycles that were removed (4 by output.keep)"
        check(len(end.lines()) == 1 and end.lines()[0].endswith(f" 0 lost{said}"), f"without: {end}")
    with Place() as place:
        zero, one = (separate(place, variables, rank) for rank, variables in
                     enumerate(place.ranks(2, **settings(3, 0))))
        slow = place.start([STEADY, 20, 5, 400_000], one)
        ends = [place.run([STEADY, 20, 5, 5000], zero), end_of(slow)]
        # Rank 0's merge may have one or two of rank 1's, which nobody lacks then.
        missing = 6 - len(steps_in(place.trace("out/node0.json"))) // 2
        check("; without 2 cycles " in ends[0].err and f"; without {missing} cycles " in ends[1].err,
              f"without: two merges, {missing} are missing: {ends}")


def test_said_where_it_is_lost():
    with Place() as place:
        running = place.start([STEADY, 100, 5, 20_000], place.agent(**settings(1, 0)))
        deadline = time.monotonic() + jobs.TIMEOUT
        while not (place.path / "out").exists() or not rank_files(place) and time.monotonic() < deadline:
            time.sleep(0.01)
        (place.path / "out" / rank_files(place)[0]).unlink()
        end = end_of(running)
        check(any("output.keep" in line and "were removed" in line for line in end.lines()), f"lost: {end}")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
