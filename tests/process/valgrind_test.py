"""Traced programs under valgrind's memcheck: neither the agent nor what it writes uses memory that is
not its own or was never set. No suppressions."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from places import BUILD, LIBRARY, skip
from traced_run import variables_of

PROGRAMS = ["step_single_gpu --steps 20", "odd_work", "busy_threads --steps 8", "two_majors"]
LIMIT_S = 100


def run_under_valgrind(program, folder):
    """The problem in words, or None. The program's processes end with this call."""
    variables = variables_of(folder, LD_PRELOAD=LIBRARY, TRACEAGENT_RING_SIZE="4MiB",
                             TRACEAGENT_RING_FOLDER=folder, TRACEAGENT_OUTPUT_FOLDER=f"{folder}/out",
                             TRACEAGENT_SCHEDULE="skip_first=5,wait=0,warmup=1,active=2")
    del variables["SIMGPU_TRUTH"]  # mapped in a way that valgrind refuses
    words = ["valgrind", "-q", "--error-exitcode=99", "--num-callers=14",
             f"--log-file={folder}/log", *f"{BUILD}/programs/{program}".split()]
    process = subprocess.Popen(words, cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
        said = log.read()
    if code != 0 or said:
        return f"{program}: ended with {code}:\n{said[:3000]}"
    if not os.path.exists(f"{folder}/out/node0.json"):
        return f"{program}: no trace was written"
    return None


def main():
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    problems = []
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            problems.append(run_under_valgrind(program, folder))
    problems = [problem for problem in problems if problem]
    print(*problems, sep="\n")
    print(f"{len(PROGRAMS)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
