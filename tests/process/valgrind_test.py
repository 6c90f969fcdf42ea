"""Traced programs under valgrind's memcheck: neither the agent nor what it writes uses memory that is
not its own or was never set, nor does a merge. No suppressions."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from places import BUILD, LIBRARY, SOURCE, skip
from traced_run import variables_of

PROGRAMS = ["step_single_gpu --steps 20", "odd_work", "busy_threads --steps 8", "two_majors"]
MERGES = ["composer"]  # of tests/golden/merge
LIMIT_S = 100


def run_under_valgrind(command, variables, folder):
    """The problem in words, or None. The processes end with this call."""
    words = ["valgrind", "-q", "--error-exitcode=99", "--num-callers=14", f"--log-file={folder}/log", *map(str, command)]
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
        return f"ended with {code}:\n{said[:3000]}"
    if not os.path.exists(f"{folder}/out/node0.json"):
        return "no trace was written"
    return None


def run_program(program, folder):
    variables = variables_of(folder, LD_PRELOAD=LIBRARY, TRACEAGENT_RING_SIZE="4MiB",
                             TRACEAGENT_RING_FOLDER=folder, TRACEAGENT_OUTPUT_FOLDER=f"{folder}/out",
                             TRACEAGENT_SCHEDULE="skip_first=5,wait=0,warmup=1,active=2")
    del variables["SIMGPU_TRUTH"]  # mapped in a way that valgrind refuses
    return run_under_valgrind(f"{BUILD}/programs/{program}".split(), variables, folder)


def run_merge(case, folder):
    """Of other people's traces, whose events are compared by many bytes at once."""
    os.mkdir(f"{folder}/out")
    traces = sorted((SOURCE / "tests/golden/merge" / case).glob("*rank*.json"))
    return run_under_valgrind([BUILD / "bin/traceagent", "merge", *traces, "-o", f"{folder}/out/node0.json"],
                              variables_of(folder), folder)


def main():
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    runs = [*((program, run_program) for program in PROGRAMS), *((case, run_merge) for case in MERGES)]
    problems = []
    for name, run in runs:
        with tempfile.TemporaryDirectory(prefix="traceagent-test-") as folder:
            problem = run(name, folder)
            problems += [f"{name}: {problem}"] * bool(problem)
    print(*problems, sep="\n")
    print(f"{len(runs)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
