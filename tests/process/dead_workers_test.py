#!/usr/bin/env python3
"""A job that forks worker after worker, each of which makes calls and dies: their rings do not wait in
memory for the job's end, what waits there has a bound, and what is lost by that is told."""
import contextlib
import os
import re
import sys
import time

from jobs import TIMEOUT, TRACEAGENT, Checks, Place, calls_in, end_of, variables_of

WORKERS, WORKER_CALLS, CALLS = 60, 3, 7
# The end of each job: all workers are dead, and it goes on until it is told to end.
AND_WAIT = """
open("forked", "w").close()
while not os.path.exists("end"):
    time.sleep(0.05)
"""
# Every second one is killed with its calls unwritten.
JOB = f"""
import ctypes, os, signal, time
cudart = ctypes.CDLL("libcudart.so.13")
def call(count):
    for _ in range(count):
        cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
cudart.cudaDeviceSynchronize()
call({CALLS} - 1)
for worker in range({WORKERS}):
    child = os.fork()
    if child == 0:
        call({WORKER_CALLS})
        if worker % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
""" + AND_WAIT
MOST_LEFT = 17  # dead_workers.cpp: 16 may wait, and the job's own
# So many may wait by their number; what they take is another thing.
FEW_WORKERS, MIB = 12, 1 << 20
FEW = """
import ctypes, os, signal, sys, time
cudart = ctypes.CDLL("libcudart.so.13")
count, deadly = int(sys.argv[1]), sys.argv[2] == "killed"
def call():
    cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
cudart.cudaDeviceSynchronize()
call()
for worker in range(count):
    child = os.fork()
    if child == 0:
        call()
        if deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
""" + AND_WAIT

checks = Checks()


class Running:
    """A job whose workers are all dead, which goes on until it is told to end."""

    def __init__(self, place, script, *words, **more):
        self.place = place
        (place.path / "job.py").write_text(script)
        self.process = place.start([sys.executable, place.path / "job.py", *words], place.agent(
            TRACEAGENT_SCHEDULE="warmup=0,active=1000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out", **more))
        self.wait_until(lambda: (place.path / "forked").exists())

    def wait_until(self, condition):
        deadline = time.monotonic() + TIMEOUT
        while not condition() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.1)

    def rings(self):
        return [name for name in self.place.left_in_memory() if str(name).endswith(".ring")]

    def ring_bytes(self):
        """Of the job's own too."""
        taken = 0
        for name in self.rings():
            with contextlib.suppress(FileNotFoundError):  # the job removes some meanwhile
                taken += (self.place.rings / name).stat().st_blocks * 512
        return taken

    def end(self):
        (self.place.path / "end").touch()
        return end_of(self.process)

    def check_calls(self, expected, result):
        has_node = "out/node0.json" in self.place.files()
        node = self.place.trace("out/node0.json") if has_node else {"traceEvents": []}
        checks.check(len(calls_in(node)) == expected, f"{len(calls_in(node))} calls of {expected}: {result.lines()}")
        checks.check(self.place.left_in_memory() == [], f"left in memory: {self.place.left_in_memory()}")
        return node


with Place() as place:
    job = Running(place, JOB, TRACEAGENT_RING_SIZE="256KiB")
    job.wait_until(lambda: len(job.rings()) <= MOST_LEFT)
    checks.check(job.process.poll() is None and 0 < len(job.rings()) <= MOST_LEFT,
                 f"{len(job.rings())} rings wait while the job runs")
    result = job.end()
    checks.check(result.code == 0 and result.out == "", f"{result}")
    node = job.check_calls(CALLS + WORKERS * WORKER_CALLS, result)
    processes = len({event["pid"] for event in calls_in(node)})
    checks.check(processes == WORKERS + 1, f"{processes} processes of {WORKERS + 1}")

# Who has ended by itself, and whose files are written, keeps little of its ring for who merges.
with Place() as place:
    job = Running(place, FEW, FEW_WORKERS, "by themselves", TRACEAGENT_RING_SIZE="4MiB")
    waiting = job.ring_bytes()
    checks.check(waiting < 4 * MIB + FEW_WORKERS * MIB, f"{FEW_WORKERS} workers have left {waiting} bytes")
    result = job.end()
    job.check_calls(FEW_WORKERS + 2, result)

# A page that is gone may be refused when it is touched, and a call that was overwritten looks at its place when it ends.
with Place() as place:
    job = Running(place, FEW, FEW_WORKERS, "by themselves", TRACEAGENT_RING_SIZE="4MiB", TRACEAGENT_RING_FULL="overwrite",
                  RANK=1, LOCAL_RANK=1, WORLD_SIZE=2, LOCAL_WORLD_SIZE=2, TORCHELASTIC_RUN_ID="overwrite")
    waiting, whole = job.ring_bytes(), len(job.rings()) * (4 * MIB - 64 * 1024)
    checks.check(len(job.rings()) == FEW_WORKERS + 1 and waiting >= whole, f"overwrite: {waiting} bytes of {whole}")
    result = job.end()
    job.check_calls(FEW_WORKERS + 2, result)

# However many lie there, each turn removes some. Their names are of one ring: of thousands there would be no room.
MANY = 3000
with Place() as place:
    job = Running(place, FEW, FEW_WORKERS, "by themselves", TRACEAGENT_RING_SIZE="256KiB")
    workers = [name for name in job.rings() if f"-{job.process.pid}-" not in name]
    worker = place.rings / workers[0]
    for number in range(MANY):
        os.link(worker, worker.with_name(f"{worker.name[:-len('-0.ring')]}-{number + 1}.ring"))
    job.wait_until(lambda: len(job.rings()) <= MOST_LEFT)
    checks.check(len(job.rings()) <= MOST_LEFT, f"{len(job.rings())} rings of {MANY} are left")
    result = job.end()
    job.check_calls(FEW_WORKERS + 2, result)

# Those that were killed may wait while they take no more than a ring together.
with Place() as place:
    job = Running(place, FEW, FEW_WORKERS, "killed", TRACEAGENT_RING_SIZE="4MiB")
    job.wait_until(lambda: job.ring_bytes() <= 8 * MIB)
    checks.check(0 < job.ring_bytes() <= 8 * MIB, f"{FEW_WORKERS} killed workers leave {job.ring_bytes()} bytes")
    waiting = len(job.rings()) - 1
    result = job.end()
    said = [line for line in result.lines() if "died: recovered" in line]
    # On a busy machine CUPTI may have told of the call before the kill.
    checks.check(waiting == 1 and len(said) == 1 and re.search("a worker of rank 0 died: recovered [1-9] of its events", said[0]),
                 f"{waiting} killed workers are told of: {result.lines()}")
    job.check_calls(FEW_WORKERS + 2, result)

# Where nobody writes them (local rank zero makes no call) there is a bound to what is left there. Half
# a minute of a job that forks such a worker each second.
KILLED, RING = 30, 16 * MIB
with Place() as place:
    job = Running(place, FEW, KILLED, "killed", TRACEAGENT_RING_SIZE="16MiB", RANK=1, LOCAL_RANK=1, WORLD_SIZE=2,
                  LOCAL_WORLD_SIZE=2, TORCHELASTIC_RUN_ID="bound")
    waiting = job.ring_bytes()
    space = os.statvfs(place.rings)
    bound = min(16 * RING, space.f_blocks * space.f_frsize // 4)
    checks.check(waiting <= bound + 2 * RING, f"{KILLED} killed workers, nobody to write them: {waiting} bytes")
    recovered = len(job.rings()) - 1
    result = job.end()
    checks.check(result.code == 0, f"{result}")
    lost = KILLED - recovered
    said = [line for line in result.lines() if "new workers record in private memory" in line]
    checks.check(0 < lost < KILLED and len(said) == 1, f"{lost} of {KILLED} in private memory: {result.lines()}")
    checks.check(any(f"{lost} workers that were killed had recorded in private memory" in line
                     for line in result.lines()), f"{lost} lost: {result.lines()}")
    said = [line for line in result.lines() if "died: recovered" in line]
    found = re.search(f"{recovered} workers of rank 1 died: recovered (\\d+) of their events", "\n".join(said))
    checks.check(len(said) == 1 and found and int(found[1]) >= recovered,
                 f"{recovered} killed workers are told of: {said}")
    node = job.check_calls(2 + recovered, result)
    checks.check(f"{lost} workers" in str(node.get("traceagent")), f"the node's file does not tell of {lost}")

# Killed with its workers: what waits is there for who recovers.
with Place() as place:
    job = Running(place, FEW, FEW_WORKERS, "killed", TRACEAGENT_RING_SIZE="4MiB")
    job.process.kill()
    killed = end_of(job.process)
    result = place.run([TRACEAGENT, "recover"], variables_of(TRACEAGENT_RING_FOLDER=place.rings))
    checks.check(result.code == 0, f"recover: {result}")
    written = [name for name in place.files() if name.startswith("out/ep")]
    calls = sum(len(calls_in(place.trace(name))) for name in written)
    checks.check(calls == FEW_WORKERS + 2, f"recovered {calls} calls of {FEW_WORKERS + 2}: {written} {result}")
    checks.check(place.left_in_memory() == [], f"left in memory: {place.left_in_memory()}")
sys.exit(checks.end())
