#!/usr/bin/env python3
"""Option `keeper`: ranks that are all killed leave the node's file, made by a process that is no child
of theirs and that ends with its work."""
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from jobs import (LIBRARY, PROGRAMS, TRACEAGENT, Checks, Place, bare_run, calls_in, end_of, processes_naming,
                  wait_until, wait_until_said)
from places import SANITIZED

checks = Checks()
check = checks.check
LIFE, STEADY, INTERPOSER = PROGRAMS / "process_life", PROGRAMS / "steady", PROGRAMS / "libinterposer.so"
ALL = {"TRACEAGENT_SCHEDULE": "warmup=0,active=100000,repeat=1", "TRACEAGENT_OUTPUT_FOLDER": "out",
       "TRACEAGENT_KEEPER": "true"}


def keepers(place):
    return processes_naming(place.rings)


def end_keepers(place):
    for pid in keepers(place):
        os.kill(pid, signal.SIGKILL)


def test_all_ranks_killed():
    count = 4
    with Place() as place:
        ranks = [place.start([STEADY, 100_000, 10, 1000], variables)
                 for variables in place.ranks(count, **ALL)]
        check(all([wait_until_said(rank, "step 10") for rank in ranks]), "all have recorded")
        running = keepers(place)
        check(len(running) == 1, f"one keeper of {count} ranks: {running}")
        for pid in running:  # a scheduler tells all that it finds
            os.kill(pid, signal.SIGTERM)
        for rank in ranks:
            rank.kill()
        # Their output is at its end at once: the keeper holds none of it.
        ends = [end_of(rank) for rank in ranks]
        check([end.code for end in ends] == [-9] * count, f"ranks: {ends}")
        check(wait_until(lambda: not keepers(place)), f"the keeper ends: {keepers(place)}")
        end_keepers(place)
        files = place.files()
        check(sum("-rank" in name for name in files) == count and "out/node0.json" in files, f"files: {files}")
        if "out/node0.json" in files:
            found = {event["pid"] for event in calls_in(place.trace("out/node0.json"))}
            check(found == set(range(count)), f"ranks in the node file: {found}")
        log = place.path / "out/keeper-node0.log"
        said = log.read_text() if log.exists() else ""
        check(said.count("recovered") == count and "out/node0.json: 4 ranks" in said, f"the log: {said!r}")
        check(place.left_in_memory() == [], f"in memory: {place.left_in_memory()}")


def test_a_good_end():
    with Place() as place:
        command = [LIFE, "no_children"]
        result, bare = place.run(command, place.agent(**ALL)), bare_run(command)
        check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
              f"a good end: {result}, without the agent {bare}")
        check(wait_until(lambda: not keepers(place)), f"a good end: {keepers(place)}")
        end_keepers(place)
        check(not any("keeper" in name for name in place.files()), f"a good end: {place.files()}")


def test_is_there_before_cuda():
    """What CUDA makes, and whom it forks from, is not the keeper's."""
    with Place() as place:
        variables = place.agent(**ALL | {"INTERPOSER_STOPS": "1", "LD_PRELOAD": f"{LIBRARY} {INTERPOSER}"})
        job = place.start([STEADY, 3, 4, 0], variables)
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        check(os.WIFSTOPPED(status), f"the job stops in its first call, before CUDA has it: {status}")
        check(len(keepers(place)) == 1, f"a keeper by then: {keepers(place)}")
        maps = (pathlib.Path("/proc") / str(keepers(place)[0]) / "maps").read_text() if keepers(place) else ""
        check("libcud" not in maps, "it has nothing of CUDA's")
        os.kill(job.pid, signal.SIGCONT)
        end = end_of(job)
        check(end.code == 3 and "malloc 0" in end.out, f"and it goes on: {end}")
        check(wait_until(lambda: not keepers(place)), f"the keeper ends: {keepers(place)}")


def test_not_asked_for():
    with Place() as place:
        job = place.start([STEADY, 100_000, 10, 1000], place.agent(**ALL | {"TRACEAGENT_KEEPER": "false"}))
        job.stdout.readline()
        check(keepers(place) == [], f"not asked for: {keepers(place)}")
        job.kill()
        end_of(job)


# A rank that takes orphans calls CUDA, forks a worker that does too, and waits until it has no child left.
WAITS_FOR_ALL = """
import ctypes, os, sys, time

def cuda():
    for _ in range(5):
        ctypes.CDLL("libcudart.so.13").cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
cuda()
if sys.argv[1:]:
    tool = os.posix_spawn(sys.argv[1], sys.argv[1:], {})
    print("child", tool, os.wait() == (tool, 256), flush=True)
if os.fork() == 0:
    cuda()
    sys.exit(0)
ended = 0
try:
    while os.wait():
        ended += 1
except ChildProcessError:
    print("ended:", ended, flush=True)
"""


def ends_by_itself(place, job, what):
    """Else a keeper that is a child of the job's is killed, so that the job ends."""
    if not wait_until(lambda: job.poll() is not None):
        check(False, f"{what}: hangs, and waits for {keepers(place)}")
        end_keepers(place)
    return end_of(job)


def test_worker_of_a_rank_that_takes_orphans():
    """The keeper that the worker would start were the rank's child, which waits for its end as it for the rank's."""
    with Place() as place:
        (place.path / "rank.py").write_text(WAITS_FOR_ALL)
        job = place.start([sys.executable, "rank.py"], place.agent(**ALL))
        end = ends_by_itself(place, job, "takes orphans")
        check(end.code == 0 and end.out == "ended: 1\n", f"takes orphans: {end}")
        check(sum("keeper: this process starts none" in line for line in end.lines()) == 1, f"takes orphans: {end}")


def test_child_of_its_run():
    """However it came to that: it ends at once, and says so."""
    with Place() as place:
        (place.path / "rank.py").write_text(WAITS_FOR_ALL)
        run = place.rings / f"traceagent-{os.geteuid()}"
        log = place.path / "said.log"
        # The run's folder is known once it is there.
        keeper = ["/bin/sh", "-c", f"exec {TRACEAGENT} recover --wait --log {log} {run}/*"]
        job = place.start([sys.executable, "rank.py", *keeper], place.agent(**ALL | {"TRACEAGENT_KEEPER": "false"}))
        end = ends_by_itself(place, job, "its child")
        check(end.code == 0 and "True\n" in end.out, f"its child: {end}")
        said = log.read_text() if log.exists() else ""
        check(f"its process {job.pid} takes orphans" in said and len(said.splitlines()) == 1, f"its child: {said!r}")


def test_nothing_to_say():
    """A job that had recorded nothing leaves no log."""
    with Place() as place:
        late = ALL | {"TRACEAGENT_SCHEDULE": "skip_first=100000,warmup=1,active=1"}
        job = place.start([STEADY, 100_000, 10, 1000], place.agent(**late))
        check(wait_until_said(job, "step 10"), "nothing to say: it runs")
        job.kill()
        end_of(job)
        check(wait_until(lambda: not keepers(place)), "nothing to say: the keeper ends")
        check(place.files() == [] and place.left_in_memory() == [], f"nothing to say: {place.files()}")


def test_log_of_an_earlier_run():
    """It is no trace: the next job may write beside it."""
    with Place() as place:
        (place.path / "out").mkdir()
        (place.path / "out/keeper-node0.log").write_text("of an earlier run\n")
        result = place.run([STEADY, 3, 4, 0], place.agent(**ALL))
        check("out/node0.json" in place.files(), f"beside a log: {result}")
        check(wait_until(lambda: not keepers(place)), "beside a log: the keeper ends")


def test_a_log_that_would_hang_it():
    """A FIFO of that name, which nobody reads: the files are worth more than what is said of them."""
    with Place() as place:
        (place.path / "out").mkdir()
        os.mkfifo(place.path / "out/keeper-node0.log")
        job = place.start([STEADY, 100_000, 10, 1000], place.agent(**ALL))
        check(wait_until_said(job, "step 10"), "a FIFO: it has recorded")
        job.kill()
        end_of(job)
        check(wait_until(lambda: not keepers(place)), f"a FIFO: the keeper ends: {keepers(place)}")
        end_keepers(place)
        check("out/node0.json" in place.files(), f"a FIFO: {place.files()}")
        check(place.left_in_memory() == [], f"a FIFO: in memory: {place.left_in_memory()}")


def start_by_launcher(place):
    """A run of one key, under a launcher that ends with its rank; the rank's pid."""
    more = {"TORCHELASTIC_RUN_ID": "train", "MASTER_ADDR": "n0", "MASTER_PORT": "29500", "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0", "GROUP_RANK": "0"}
    variables = {key: value for key, value in place.agent(**ALL, **more).items() if key != "LD_PRELOAD"}
    rank = shlex.join(["env", f"LD_PRELOAD={LIBRARY}", "RANK=0", str(STEADY), "100000", "10", "1000"])
    launcher = subprocess.Popen(["sh", "-c", f"{rank} >said & echo $!; wait"], env=variables, cwd=place.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = int(launcher.stdout.readline())
    said = place.path / "said"
    check(wait_until(lambda: said.exists() and "step 10\n" in said.read_text()), "restarted: it has recorded")
    said.unlink()
    return launcher, pid


def test_restarted_at_once():
    """The next attempt of the key comes before the keeper believes the first one dead, and takes its folder's name."""
    with Place() as place:
        pids = []
        for _ in range(2):
            launcher, pid = start_by_launcher(place)
            pids.append(pid)
            time.sleep(0.3)  # the keeper has seen the run
            os.kill(pid, signal.SIGKILL)
            end_of(launcher)
        check(wait_until(lambda: not keepers(place)), "restarted: the keepers end")
        end_keepers(place)
        merged = [about["identity"]["pid"] for name in place.files() if "/node0" in name
                  for about in place.trace(name)["traceagent"]["merged"]]
        check(sorted(merged) == sorted(pids), f"restarted: in node files {merged}, killed {pids}: {place.files()}")
        check(place.left_in_memory() == [], f"restarted: {place.left_in_memory()}")


OF_PYTHON = (test_worker_of_a_rank_that_takes_orphans, test_child_of_its_run)
for name, test in sorted(globals().items()):
    if name.startswith("test_") and not (SANITIZED and test in OF_PYTHON):  # ctypes' calls are not seen in such a build
        test()
sys.exit(checks.end())
