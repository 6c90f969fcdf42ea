#!/usr/bin/env python3
"""What killed jobs leave in memory: shown, discarded by their owner alone, and removed by later jobs when old."""
import os
import pathlib
import shutil
import signal
import sys
import time

from jobs import STEADY, TIMEOUT, TRACEAGENT, Checks, Place, calls_in, end_of, truth_of, wait_until
from places import LIBRARY, SANITIZED, need

checks = Checks()
check = checks.check
ENDLESS = {"TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=1000000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
           "TRACEAGENT_RING_SIZE": "1MiB"}
OTHER = 12345  # a user who owns nothing here


def tool(place, *words):
    variables = place.agent()
    del variables["LD_PRELOAD"]
    return place.run([TRACEAGENT, *words], variables)


def rings(place):
    return sorted(place.rings.rglob("*.ring"))


def started(place, ranks=1, **more):
    """A job that records: its processes."""
    truths = [place.path / f"{time.monotonic_ns()}-{rank}.truth" for rank in range(ranks)]
    running = [place.start([STEADY, 1000, 10, 10_000], {**variables, **more, "SIMGPU_TRUTH": str(truth)})
               for variables, truth in zip(place.ranks(ranks, **ENDLESS), truths)]
    deadline = time.monotonic() + TIMEOUT
    # The simulator notes a call when the agent has published it.
    while not all(truth.exists() and truth_of(truth) for truth in truths) and time.monotonic() < deadline:
        time.sleep(0.05)
    return running


def end(running, number=signal.SIGKILL):
    for process in running:
        process.send_signal(number)
    for process in running:
        end_of(process)


def killed(place, ranks=1, **more):
    """The folder of a run that is dead."""
    before = set(rings(place))
    end(started(place, ranks, **more))
    new = sorted(set(rings(place)) - before)
    check(len(new) == ranks, f"rings of the killed: {new}")
    return new[0].parent


def test_list():
    with Place() as place:
        none = tool(place, "recover", "--list")
        check(none.code == 0 and "no ring of a dead job" in none.out, f"none: {none}")
        check("no ring of one" in tool(place, "check").out, "check, none")
        run = killed(place, 2)
        living = started(place)
        shown = tool(place, "recover", "--list")
        end(living)
        lines = shown.out.splitlines()
        check(shown.code == 0 and lines[0].startswith(f"{run}: 2 rings, ") and "iB, " in lines[0] and " s old, of " in
              lines[0], f"the run: {shown}")
        check(len(lines) == 4 and lines[1].strip() == f"{STEADY} 1000 10 10000", f"its command: {shown}")
        check(lines[2].strip() == f"traceagent recover {run}", f"recover: {shown}")
        check(lines[3].strip() == f"traceagent recover --discard {run}", f"discard: {shown}")
        traces = place.path / "traces"
        traces.mkdir()
        for name in ("a.json", "b.json"):
            (traces / name).write_text("[]")
        for words in (["--list"], ["--discard"]):
            none = tool(place, "recover", *words, str(traces))
            check(none.code == 0 and none.err == "" and none.out == f"{traces}: no ring of a dead job\n"
                  and len(list(traces.iterdir())) == 2, f"a folder of traces, {words}: {none}")
        for folder in (place.rings, f"{run.parent}/"):
            check(tool(place, "recover", "--list", str(folder)).out.splitlines()[0].startswith(f"{run}: 2 rings"), str(folder))
        checked = tool(place, "check")
        check("dead jobs" in checked.out and "3 rings of 2 runs" in checked.out and "traceagent recover --list" in
              checked.out, f"check: {checked}")
        # What is shown can be done.
        check(tool(place, *lines[2].split()[1:]).code == 0 and not run.exists(), "recovered as told")


def test_list_offers_what_works():
    """Of a damaged ring there is nothing to recover; what lies elsewhere than rings are made is not discarded."""
    with Place() as place:
        run, damaged = killed(place), killed(place)
        copy = place.path / "copy"
        shutil.copytree(run, copy)
        ring = next(damaged.glob("*.ring"))
        ring.write_bytes(b"\x5a" * 5000)
        for folder, wanted in ((run, ["recover", "--discard"]), (copy, ["recover"]), (damaged, ["--discard"])):
            lines = [line.strip() for line in tool(place, "recover", "--list", str(folder)).out.splitlines()]
            told = [line for line in lines if line.startswith("traceagent ")]
            check([line.split()[-2] for line in told] == wanted, f"{folder}: {lines}")
            says = f"{ring}: not a ring of traceagent: nothing of it can be recovered"
            check((says in lines) == (folder == damaged), f"{folder}: {lines}")
        shutil.copy(ring, run / "7-99999-0.ring")
        lines = tool(place, "recover", "--list", str(run)).out.splitlines()
        check(len(lines) == 5 and "7-99999-0.ring: not a ring" in lines[2] and lines[3].strip() == f"traceagent recover {run}",
              f"one of two: {lines}")
        for command in (["recover", str(copy)], ["recover", "--discard", str(run)], ["recover", "--discard", str(damaged)]):
            done = tool(place, *command)
            check(done.code == 0, f"what is offered works: {done}")


def test_discard():
    with Place() as place:
        first, second = killed(place), killed(place, 2)
        living = started(place)
        lives = [ring for ring in rings(place) if ring.parent not in (first, second)]
        young = tool(place, "recover", "--discard", "--older-than", "1h")
        check(young.code == 0 and young.out.count(": left: ") == 3 and len(rings(place)) == 4, f"young: {young}")
        named = tool(place, "recover", "--discard", str(first))
        check(named.code == 0 and f"{first}: removed: 1 ring" in named.out and not first.exists(), f"named: {named}")
        check(second.exists(), "the others are not touched")
        alive = tool(place, "recover", "--discard", str(lives[0].parent))
        check(alive.code == 0 and "left: its run still goes on" in alive.out, f"alive: {alive}")
        everything = tool(place, "recover", "--discard")
        check(everything.code == 0 and f"{second}: removed: 2 rings" in everything.out, f"all: {everything}")
        check(rings(place) == lives, f"the living one's is left: {rings(place)}")
        end(living, signal.SIGTERM)
        last = tool(place, "recover", "--discard")
        check(last.code == 0 and place.left_in_memory() == [], f"the last: {last}, {place.left_in_memory()}")
        check(not any("rank" in name for name in place.files()), f"nothing is written: {place.files()}")


def test_usage():
    with Place() as place:
        run = killed(place)
        for words in (["--list", "--discard"], ["--older-than", "7d"], ["--discard", "--older-than", "soon"],
                      ["--discard", "--older-than", ""], ["--discard", "--keep"], ["--discard", "--wait"],
                      ["--discard", str(rings(place)[0])]):
            result = tool(place, "recover", *words)
            check(result.code == 2 and len(result.lines()) == 1, f"{words}: {result}")
        check(run.exists() and len(rings(place)) == 1, "nothing is removed")


def test_planted():
    """Links and files that are not the agent's: nothing of such a run goes, and nothing behind a link."""
    with Place() as place:
        run = killed(place)
        precious = place.path / "precious"
        precious.mkdir()
        (precious / "0-1-0.ring").write_text("years of work")
        for what, plant in (("a link to a file", lambda path: path.symlink_to(precious / "0-1-0.ring")),
                            ("a folder", pathlib.Path.mkdir), ("a pipe", os.mkfifo)):
            planted = run / "7-7-7.ring"
            plant(planted)
            for words in (["recover", "--discard"], ["recover", "--discard", str(run)]):
                result = tool(place, *words)
                check(result.code == 1 and len(result.lines()) == 1 and len(rings(place)) == 2, f"{what}: {result}")
            if planted.is_dir() and not planted.is_symlink():
                planted.rmdir()
            else:
                planted.unlink()
        link = run.parent / "link"
        link.symlink_to(precious, target_is_directory=True)
        strange = tool(place, "recover", "--discard", str(precious))
        check(strange.code == 1 and (precious / "0-1-0.ring").read_text() == "years of work",
              f"a folder that is nobody's run: {strange}")
        result = tool(place, "recover", "--discard", str(link))
        check(result.code == 1 and len(result.lines()) == 1, f"a link to a folder: {result}")
        check((precious / "0-1-0.ring").read_text() == "years of work", "what lies behind the link")
        link.unlink()
        check(tool(place, "recover", "--discard").code == 0 and place.left_in_memory() == [], "without them it goes")


def as_other(place, *words):
    """The tool as a user who owns nothing; nothing here is theirs to read either, but for the folders."""
    variables = place.agent()
    del variables["LD_PRELOAD"]
    return place.run(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", TRACEAGENT, *words], variables)


def test_another_user():
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        print("another user: not tried: needs root and setpriv")
        return
    with Place() as place:
        for folder in (place.path, place.rings):
            folder.chmod(0o755)
        run = killed(place)
        run.parent.chmod(0o755)
        run.chmod(0o755)
        result = as_other(place, "recover", "--discard", str(run))
        if result.code in (126, 127):
            print(f"another user: not tried: they cannot run the tool: {result}")
            return
        check(result.code == 1 and "belongs to another user" in result.err and run.exists(), f"as another user: {result}")
        check(as_other(place, "recover", "--list", str(run)).code == 1, "list as another user")
        os.chown(rings(place)[0], OTHER, OTHER)
        result = tool(place, "recover", "--discard", str(run))
        check(result.code == 1 and "belongs to another user" in result.err and run.exists(), f"root: {result}")
        # Nor does a job of root's, however old it is.
        job(place, TRACEAGENT_RING_KEEP_DEAD="1ms")
        check(len(rings(place)) == 1, "a job of another user's removed it")


def job(place, **more):
    """One that ends well; it looks at what others left."""
    ended = place.run([STEADY, 30, 10, 5_000], place.agent(TRACEAGENT_OUTPUT_FOLDER=f"out{time.monotonic_ns()}", **more))
    check(ended.code == 3, f"the job: {ended}")
    return ended


def job_that(does, place, **more):
    """The look takes 100 ms at most, which is nothing where the machine stands still: then the next job does it."""
    for _ in range(10):
        ended = job(place, **more)
        if does(ended):
            break
    return ended


def test_keep_dead():
    with Place() as place:
        run = killed(place, 2)
        living = started(place)
        line = f"{run.parent}: 2 rings of dead jobs: traceagent recover --list"
        kept = job_that(lambda ended: line in ended.err, place, TRACEAGENT_VERBOSE="1")
        check(run.exists() and line in kept.err, f"a week is not over: {kept}")
        check("dead jobs" not in job(place).err, "said only where it is asked for")
        time.sleep(1.5)
        never = job_that(lambda ended: line in ended.err, place, TRACEAGENT_RING_KEEP_DEAD="0", TRACEAGENT_VERBOSE="1")
        check(run.exists() and line in never.err, f"never: {never}")
        job(place, TRACEAGENT_RING_KEEP_DEAD="1h")
        check(run.exists(), "an hour")
        gone = job_that(lambda _: not run.exists(), place, TRACEAGENT_RING_KEEP_DEAD="1s", TRACEAGENT_VERBOSE="1")
        check(not run.exists() and "removed 2 rings (" in gone.err, f"a second: {gone}")
        check(len(rings(place)) == 1, f"the living one's is left: {rings(place)}")
        check(all(process.poll() is None for process in living), "the living one is dead")
        end(living)


def memory_of(*files):
    return sum(file.stat().st_blocks * 512 for file in files)


def calls_recovered(place, what, *words):
    """What a recovery writes, each call with its times."""
    result = tool(place, "recover", "--keep", "--no-merge", *map(str, words), "--output", f"recovered-{what}")
    written = sorted((place.path / f"recovered-{what}").glob("*.json"))
    check(result.code == 0 and written, f"recovered {what}: {result}")
    return [(event["pid"], event["name"], event["ts"], event["dur"]) for path in written
            for event in calls_in(place.trace(path.relative_to(place.path)))]


def test_killed_again_and_again():
    """Each attempt has a name of its own and knows nothing of the last one: of that one's rings what holds nothing goes
    back to the system, and what is in them stays."""
    with Place() as place:
        killed_runs, copies = [], []
        for attempt in range(3):
            run = killed(place, 2, TRACEAGENT_RING_SIZE="8MiB", TORCHELASTIC_RESTART_COUNT=str(attempt),
                         TRACEAGENT_SCHEDULE="warmup=0,active=1000000,repeat=1")
            copies.append(shutil.copytree(run, place.path / f"copy{attempt}"))
            killed_runs.append(run)
        whole_bytes = memory_of(*killed_runs[-1].glob("*.ring"))
        check(whole_bytes > 15 << 20, f"what is killed leaves its rings whole: {whole_bytes}")
        job_that(lambda _: memory_of(*rings(place)) < 5 << 20, place)
        check(memory_of(*rings(place)) < 5 << 20, f"three attempts' rings: {memory_of(*rings(place))} bytes")
        for attempt, (run, copy) in enumerate(zip(killed_runs, copies)):
            before = calls_recovered(place, f"{attempt}-before", *copy.glob("*.ring"))
            after = calls_recovered(place, f"{attempt}-after", *run.glob("*.ring"))
            check(before and before == after, f"attempt {attempt}: {len(before)} calls, and {len(after)} of what is left")


def under_many_names(place):
    """A killed run's ring, which stands for a thousand restarts."""
    ring = killed(place) / rings(place)[0].name
    links = [ring.with_name(f"{ring.name[:-len('-0.ring')]}-{number}.ring") for number in range(1, 1000)]
    for link in links:
        os.link(ring, link)
    return links


def test_too_much_old():
    """The next job takes no more of the shared memory, and says so once."""
    with Place() as place:
        links = under_many_names(place)
        ended = [end_of(process) for process in
                 [place.start([STEADY, 30, 10, 5_000], variables)
                  for variables in place.ranks(2, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="1MiB")]]
        said = [line for end in ended for line in end.lines() if "rings of killed jobs take" in line]
        check(len(said) == 1 and "traceagent recover --all" in said[0] and "--discard" in said[0] and
              "private memory" in said[0] and all(end.code == 3 for end in ended), f"too much: {ended}")
        found = [event["pid"] for event in calls_in(place.trace("out/node0.json"))]
        check(found.count(0) == found.count(1) > 40, f"of each rank: {found.count(0)}, {found.count(1)}")
        check(len(rings(place)) == 1000, "what was not written was removed")
        for link in links:
            link.unlink()
        ended = job(place)
        check("killed jobs" not in ended.err, f"no longer: {ended}")


# One call, until it may end.
RANK = """
import ctypes, os, time
ctypes.CDLL("libcudart.so.13").cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
open("began" + os.environ["RANK"], "w").close()
while not os.path.exists("end" + os.environ["RANK"]):
    time.sleep(0.02)
"""


def test_private_ranks():
    """They are ranks as all others: local rank zero waits for one that ends later than a worker might, and merges alone;
    one that is killed is called a rank."""
    with Place() as place:
        under_many_names(place)
        (place.path / "rank.py").write_text(RANK)
        ranks = [place.start([sys.executable, place.path / "rank.py"],
                             {**variables, "TRACEAGENT_SCHEDULE": "warmup=0,active=1000,repeat=1"})
                 for variables in place.ranks(3, TRACEAGENT_OUTPUT_FOLDER="private", TRACEAGENT_RING_SIZE="1MiB")]
        wait_until(lambda: all((place.path / f"began{rank}").exists() for rank in range(3)))
        check(len(rings(place)) == 1000, f"{len(rings(place))} rings: the ranks have some in the folder")
        ranks[1].kill()
        (place.path / "end0").touch()
        time.sleep(3)
        check(ranks[0].poll() is None, "local rank zero has not waited for the last rank")
        (place.path / "end2").touch()
        ends = [end_of(rank) for rank in ranks]
        lines = [line for one in ends for line in one.lines()]
        node = place.trace("private/node0.json")
        incomplete = node["traceagent"]["incomplete"]
        check({event["pid"] for event in calls_in(node)} == {0, 2}, f"ranks: {incomplete} {lines}")
        check(incomplete == [{"file": "1 rank", "problem": "was killed: lost"}], f"incomplete: {incomplete}")
        check(sum("1 rank that was killed had recorded in private memory" in line for line in lines) == 1, f"killed: {lines}")
        check(sum("2 ranks," in line for line in lines) == 1, f"merged: {lines}")


def test_private_ranks_alone():
    """A job that has no ring, and was killed: it is listed and told, whatever folder is named, and nothing of it stays."""
    for named in ("", "rings", "user's", "run", "run/"):
        with Place() as place:
            others = under_many_names(place)[0].parent
            (place.path / "rank.py").write_text(RANK)
            ranks = [place.start([sys.executable, place.path / "rank.py"], variables)
                     for variables in place.ranks(2, TRACEAGENT_RUN_NAME="private", TRACEAGENT_RING_SIZE="1MiB")]
            wait_until(lambda: all((place.path / f"began{rank}").exists() for rank in range(2)))
            end(ranks)
            tool(place, "recover", "--discard", others)
            run = next(place.rings.rglob("private-workers")).parent
            check(not list(run.glob("*.ring")), f"they have rings: {run}")
            folder = {"": [], "rings": [place.rings], "user's": [run.parent], "run": [run], "run/": [f"{run}/"]}[named]
            shown = tool(place, "recover", "--list", *folder)
            check(shown.code == 0 and str(run) in shown.out and ": 0 rings" in shown.out and "nothing of 2 ranks" in shown.out, f"{named}: {shown}")
            kept = tool(place, "recover", "--all", "--keep", run)
            check(kept.code == 0 and "2 ranks of the job had" in kept.out and run.exists(), f"{named}, kept: {kept}")
            told = tool(place, "recover", "--all", *folder)
            check(told.code == 0 and told.out.count("2 ranks of the job had recorded in private memory and were killed") == 1
                  and not run.exists(), f"{named}: {told}")


def test_empty_users_folder():
    """Who made it was killed before it made more. A young one may be about to be used."""
    with Place() as place:
        folder = place.rings / f"traceagent-{os.geteuid()}"
        folder.mkdir()
        young = tool(place, "recover")
        check(young.code == 0 and folder.exists(), f"young: {young}")
        os.utime(folder, (time.time() - 60, time.time() - 60))
        old = tool(place, "recover")
        check(old.code == 0 and not folder.exists(), f"old: {old}")


def test_lives_without_its_lock():
    """A rank that may not keep a high number (ulimit -n) shows by its mapping alone that it lives, whatever path the
    user gave: who ends before it must not take its ring."""
    calls = 21
    for folder in ("{}/", "{}/../{name}", "{}/link"):
        with Place() as place:
            (place.rings / "link").symlink_to(place.rings)
            typed = folder.format(place.rings, name=place.rings.name)
            limited = ["sh", "-c", 'ulimit -n 400; exec "$@"', "sh", STEADY]
            first, second = place.ranks(2, TRACEAGENT_RING_FOLDER=typed, TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_VERBOSE="1",
                                        TRACEAGENT_SCHEDULE="wait=0,warmup=0,active=100000,repeat=1")
            last = place.start([*limited, 100, calls - 1, 20_000], second)
            wait_until(lambda: len(rings(place)) == 1)
            ends = [end_of(place.start([*limited, 3, calls - 1, 1000], first)), end_of(last)]
            check(not any("died" in end.err for end in ends), f"{typed}: {ends}")
            found = [event["pid"] for event in calls_in(place.trace("out/node0.json"))]
            check(found.count(1) >= 99 * calls, f"{typed}: calls of the one that lived on: {found.count(1)}: {ends}")
            (place.rings / "link").unlink()
            check(place.left_in_memory() == [], f"{typed}: {place.left_in_memory()}")


def test_any_notes():
    """Where CUPTI was refused a note says so: it goes with its run."""
    with Place() as place:
        run = killed(place)
        for name in ("cupti-2", "no-cudart", "governor", "merge-again", "tidied"):
            (run / name).touch()
        check(tool(place, "recover").code == 0 and place.left_in_memory() == [], f"recover: {place.left_in_memory()}")


OF_PYTHON = (test_private_ranks, test_private_ranks_alone)


def main():
    need(LIBRARY, "the library")
    need(TRACEAGENT, "the tool")
    for test in (test_list, test_list_offers_what_works, test_discard, test_usage, test_planted, test_another_user, test_keep_dead,
                 test_killed_again_and_again, test_too_much_old, test_private_ranks, test_private_ranks_alone,
                 test_empty_users_folder, test_lives_without_its_lock, test_any_notes):
        if SANITIZED and test in OF_PYTHON:  # ctypes' calls are not seen in such a build
            continue
        began = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    return checks.end()


sys.exit(main())
