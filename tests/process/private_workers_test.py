#!/usr/bin/env python3
"""Workers that record into private memory, since dead rings take too much of the shared: the node's file waits
for those that live, and of those that were killed everybody tells who could: no file holds what they had."""
import os
import pathlib
import signal
import sys

from jobs import TRACEAGENT, Checks, Place, calls_in, end_of, variables_of, wait_until
from untouched_job import can_unshare, in_mounts

LATE_CALLS = 5
# Of 16 MiB each: far more than may lie there, since local rank zero removes some hundreds a second.
LINKS = 3000
# Nobody makes files of dead workers before the end.
RANK_ONE = {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "private"}
# The first worker leaves a ring; those after it find that too much lies there. `late` outlives its parent.
JOB = f"""
import ctypes, os, signal, sys, time
cudart = ctypes.CDLL("libcudart.so.13")
def call(count=1):
    for _ in range(count):
        cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.02)
def killed_worker():
    child = os.fork()
    if child == 0:
        call()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
call()
killed_worker()
open("forked", "w").close()
wait_for("full")
killed_worker()
killed_worker()
if os.fork() == 0:
    call({LATE_CALLS})
    open("late", "w").write(str(os.getpid()))
    wait_for("end-late")
    os._exit(0)
wait_for("end")
"""

KILLED = """
import ctypes, os, signal
ctypes.CDLL("libcudart.so.13").cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
os.kill(os.getpid(), signal.SIGKILL)
"""

checks = Checks()


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return "gone"


class Running:
    """A job of one rank whose late worker has begun."""

    def __init__(self, place, **more):
        self.place = place
        (place.path / "job.py").write_text(JOB)
        self.process = place.start([sys.executable, place.path / "job.py"], place.agent(
            TRACEAGENT_SCHEDULE="warmup=0,active=1000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out",
            TRACEAGENT_RING_SIZE="16MiB", **more))
        wait_until(lambda: (place.path / "forked").exists())
        links = self.fill()
        self.tell("full")
        wait_until(self.late)
        for link in links:
            link.unlink(missing_ok=True)

    def fill(self):
        """With the dead worker's ring, under many names."""
        dead = next(path for path in self.place.rings.rglob("*.ring") if f"-{self.process.pid}-" not in path.name)
        links = [dead.with_name(f"{dead.name[:-len('-0.ring')]}-{number}.ring") for number in range(1, LINKS + 1)]
        for link in links:
            os.link(dead, link)
        return links

    def late(self):
        path = self.place.path / "late"
        return int(path.read_text() or 0) if path.exists() else 0

    def kill_late(self):
        """Its output is closed before it counts as dead."""
        pid = self.late()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: state_of(pid) in ("gone", "Z", "X"))

    def tell(self, name):
        (self.place.path / name).touch()

    def wait_for_parent(self):
        """Its output stays open in the worker."""
        wait_until(lambda: self.process.poll() is not None)

    def check_node(self, expected, who):
        node = self.place.trace("out/node0.json")
        checks.check(len(calls_in(node)) == expected, f"{who}: {len(calls_in(node))} calls of {expected}")
        return str(node.get("traceagent"))


def recover(place, *words):
    return place.run([TRACEAGENT, "recover", *words], variables_of(TRACEAGENT_RING_FOLDER=place.rings))


def check_end(job):
    """The late worker is the last one out."""
    job.tell("end-late")
    result = end_of(job.process)
    about = job.check_node(2 + LATE_CALLS, "at the end")
    checks.check("2 workers" in about and "still runs" not in about, f"at the end: {about}")
    checks.check("2 workers that were killed had recorded in private memory" in result.err, f"{result}")
    checks.check(job.place.left_in_memory() == [], f"left in memory: {job.place.left_in_memory()}")
    return result


# The parent's call and the first worker's; the late one's are to come.
with Place() as place:
    job = Running(place)
    left = recover(place)
    checks.check("left: its run still goes on" in left.out, f"recover, while it runs: {left}")
    job.tell("end")
    job.wait_for_parent()
    about = job.check_node(2, "while the worker runs")
    checks.check("still runs" in about, f"the node's file is called complete: {about}")
    merged = place.run([TRACEAGENT, "merge", "out", "-o", "by-hand.json"],
                       variables_of(TRACEAGENT_RING_FOLDER=place.rings))
    about = str(place.trace("by-hand.json").get("traceagent")) if merged.code == 0 else ""
    checks.check("still runs" in about and "2 workers" in about, f"merged by hand: {merged} {about}")
    checks.check(merged.out.count("missing: a worker of rank 0 still runs: ") == 1 and merged.out.count("still runs") == 1,
                 f"merged by hand: {merged}")
    result = check_end(job)
    checks.check("still runs: it will be added" in result.err, f"{result}")

# Any other rank leaves the node's file to the last one out.
with Place() as place:
    job = Running(place, **RANK_ONE)
    job.tell("end")
    job.wait_for_parent()
    checks.check(not (place.path / "out/node0.json").exists(), "the parent has not waited for its worker")
    check_end(job)

# All are killed: who recovers tells of them.
with Place() as place:
    job = Running(place, **RANK_ONE)
    job.process.kill()
    job.wait_for_parent()
    left = recover(place)
    checks.check("left: its run still goes on" in left.out, f"recover, while a worker lives: {left}")
    job.kill_late()
    end_of(job.process)
    listed = recover(place, "--list")
    checks.check("nothing of 3 workers that had private memory" in listed.out, f"--list: {listed}")
    result = recover(place)
    checks.check("missing: 3 workers of the job had recorded in private memory" in result.out, f"{result}")
    about = job.check_node(2, "recovered")
    checks.check("3 workers" in about, f"the recovered node file does not tell of them: {about}")
    checks.check(place.left_in_memory() == [], f"left in memory: {place.left_in_memory()}")

# No node file is wanted. Its parent's ring has gone, and it is killed: only its note is left.
with Place() as place:
    job = Running(place, TRACEAGENT_MERGE_MODE="off", **RANK_ONE)
    job.tell("end")
    job.wait_for_parent()
    for ring in [*place.rings.rglob("*.ring"), *place.rings.rglob("*.files")]:
        ring.unlink()
    job.kill_late()
    end_of(job.process)
    result = recover(place)
    checks.check("missing: 3 workers of the job had recorded in private memory" in result.out, f"{result}")
    checks.check(place.left_in_memory() == [], f"left in memory: {place.left_in_memory()}")

# A rank whose ring finds no room beside what others have there is one of them.
if can_unshare():
    with Place() as place:
        (place.path / "job.py").write_text(KILLED)
        script = f"head -c 52M /dev/zero > /dev/shm/theirs; {sys.executable} job.py; {TRACEAGENT} recover"
        result = place.run(in_mounts([["-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm"]], ["sh", "-c", script]),
                           place.agent(TRACEAGENT_SCHEDULE="warmup=0,active=1000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out",
                                       TRACEAGENT_RING_FOLDER="/dev/shm", WORLD_SIZE=1, RANK=0))
        checks.check("what is free in its folder is left to others" in result.err, f"no room: {result}")
        checks.check("missing: 1 rank of the job had recorded in private memory and was killed" in result.out, f"no room: {result}")
sys.exit(checks.end())
