#!/usr/bin/env python3
"""A job that forks worker after worker, each of which makes calls and dies: their rings do not wait in
memory for the job's end, and nothing of them is lost."""
import sys
import time

from jobs import TIMEOUT, Checks, Place, calls_in, end_of

WORKERS, WORKER_CALLS, CALLS = 60, 3, 7
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
open("forked", "w").close()
while not os.path.exists("end"):
    time.sleep(0.05)
"""
MOST_LEFT = 17  # dead_workers.cpp: 16 may wait, and the job's own

checks = Checks()
with Place() as place:
    (place.path / "job.py").write_text(JOB)
    running = place.start([sys.executable, place.path / "job.py"], place.agent(
        TRACEAGENT_SCHEDULE="warmup=0,active=1000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out", TRACEAGENT_RING_SIZE="256KiB"))
    deadline = time.monotonic() + TIMEOUT

    def rings():
        return [name for name in place.left_in_memory() if str(name).endswith(".ring")]

    def wait_until(condition):
        while not condition() and time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.1)

    wait_until(lambda: (place.path / "forked").exists())
    wait_until(lambda: len(rings()) <= MOST_LEFT)
    checks.check(running.poll() is None and 0 < len(rings()) <= MOST_LEFT,
                 f"{len(rings())} rings wait while the job runs")
    (place.path / "end").touch()
    result = end_of(running)
    checks.check(result.code == 0 and result.out == "", f"{result}")
    node = place.trace("out/node0.json") if "out/node0.json" in place.files() else {"traceEvents": []}
    expected = CALLS + WORKERS * WORKER_CALLS
    checks.check(len(calls_in(node)) == expected, f"{len(calls_in(node))} calls of {expected}: {result.lines()}")
    processes = len({event["pid"] for event in calls_in(node)})
    checks.check(processes == WORKERS + 1, f"{processes} processes of {WORKERS + 1}")
    checks.check(place.left_in_memory() == [], f"left in memory: {place.left_in_memory()}")
sys.exit(checks.end())
