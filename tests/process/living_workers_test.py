#!/usr/bin/env python3
"""Workers that outlive their rank: `traceagent merge` does not say that they are their rank, and tells of them once,
however many they are; when they have ended nothing is missing."""
import sys

from jobs import TRACEAGENT, Checks, Place, end_of, wait_until

checks = Checks()
WORKERS = """
import ctypes, os, time
cudart = ctypes.CDLL("libcudart.so.13")
def call():
    cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None)
call()
for worker in range(3):
    if os.fork() == 0:
        call()
        open(f"worker{worker}", "w").write(str(os.getpid()))
        while not os.path.exists("end"):
            time.sleep(0.02)
        os._exit(0)
while not all(os.path.exists(f"worker{worker}") for worker in range(3)):
    time.sleep(0.02)
"""

with Place() as place:
    (place.path / "job.py").write_text(WORKERS)
    variables = place.agent(TRACEAGENT_SCHEDULE="warmup=0,active=1000,repeat=1", TRACEAGENT_OUTPUT_FOLDER="out")
    process = place.start([sys.executable, place.path / "job.py"], variables)
    wait_until(lambda: process.poll() is not None)
    checks.check(process.returncode == 0, f"living workers: {process.returncode}")
    plain = {key: text for key, text in variables.items() if key != "LD_PRELOAD"}
    result = place.run([TRACEAGENT, "merge", "out", "-o", "all.json"], plain)
    said = [line for line in result.out.splitlines() if "still runs" in line]
    checks.check(said == ["missing: a worker of rank 0 still runs: merge again when the job has ended"], f"living workers: {result}")
    (place.path / "end").touch()
    end_of(process)
    result = place.run([TRACEAGENT, "merge", "out", "-o", "all.json", "--force"], plain)
    checks.check("missing" not in result.out and place.left_in_memory() == [], f"ended workers: {result}")
sys.exit(checks.end())
