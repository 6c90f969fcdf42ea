#!/usr/bin/env python3
"""CPython's own tests of processes, threads and signals end the same with the agent as without.

Three runs of each module: `bare` (the simulated libcudart is called at the start of every interpreter
and in every forked child), `active` (the same, traced: so the agent is on in all of them), `inert`
(preloaded, and nothing that it hooks is ever called). What differs is run again: a test that fails on
a busy machine is no difference, one that never passes is.

usage: cpython_test.py BUILD DEPS [--whole] [--python PYTHON] [MODULE...]
examples: cpython_test.py build build/deps
          cpython_test.py build build/deps --whole --python /usr/bin/python3.13
          cpython_test.py build build/deps --whole test_subprocess
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import contained
from host_run import SIMULATED_CUDART, TracedPlace, bare_variables
from host_states import write_table
from places import ARGUMENTS, LIBRARY, need, skip

CASES = pathlib.Path(__file__).resolve().parent / "cpython"
# Module → patterns of its tests in the short form. Chosen for what they do to processes in little time.
SHORT = {
    "test_fork1": [],
    "test_subprocess": ["POSIXProcessTestCase.test_close_fds", "POSIXProcessTestCase.test_preexec",
                        "POSIXProcessTestCase.test_exception", "POSIXProcessTestCase.test_restore_signals",
                        "POSIXProcessTestCase.test_start_new_session", "POSIXProcessTestCase.test_send_signal",
                        "POSIXProcessTestCase.test_kill", "POSIXProcessTestCase.test_terminate",
                        "POSIXProcessTestCase.test_remapping", "POSIXProcessTestCase.test_swap",
                        "POSIXProcessTestCase.test_vfork", "POSIXProcessTestCase.test_zombie",
                        "ProcessTestCase.test_communicate", "ProcessTestCase.test_stdout",
                        "ProcessTestCase.test_empty_env", "ProcessTestCase.test_one_environ"],
    "test_threading": ["AtexitTests", "ThreadJoinOnShutdown", "fork", "test_foreign_thread",
                       "test_daemon_threads", "test_main_thread", "test_threads_joining"],
    "test_signal": ["WakeupFDTests", "WakeupSignalTests", "ItimerTest.test_itimer_real"],
    "multiprocessing_fork": ["WithProcessesTestProcess", "WithProcessesTestPool.test_map",
                             "WithProcessesTestQueue.test_fork", "WithProcessesTestConnection"],
    "multiprocessing_spawn": ["WithProcessesTestProcess.test_process", "WithProcessesTestProcess.test_terminate",
                              "WithProcessesTestPool.test_map"],
    "multiprocessing_forkserver": ["WithProcessesTestProcess.test_process",
                                   "WithProcessesTestProcess.test_kill"],
}
WHOLE = [
    "test_fork1", "test_subprocess", "test_threading", "test_thread", "test_threadsignals",
    "test_threading_local", "test_signal", "test_faulthandler", "test_wait3", "test_wait4", "test_popen",
    "test_atexit", "test_os", "test_posix", "test_pty", "test_cmd_line", "test_cmd_line_script",
    "test_site", "test_sys", "test_resource", "test_mmap", "test_fcntl", "test_select", "test_ctypes",
    "test_tracemalloc", "test_gc", "test_eintr",
    "test_multiprocessing_main_handling", "multiprocessing_fork", "multiprocessing_spawn",
    "multiprocessing_forkserver",
]
# What a program sees of an agent that is on, as it would of any library that holds a file.
EXPLAINED = {
    "POSIXProcessTestCase.test_pass_fds": "counts its own descriptors: our threads open files for moments",
    "POSIXProcessTestCase.test_pass_fds_redirected": "counts its own descriptors: one is the ring's",
    "ThreadTests.test_main_thread_after_fork":
        "from 3.12 on Python warns of a fork in a process with threads, and the agent's is one",
}
RANK = ["passed", "expected failure", "skipped", "unexpected success", "failed", "error", "missing"]
TRIES = 3


class Variant:
    def __init__(self, name, calls, traced):
        self.name, self.calls, self.traced = name, calls, traced


VARIANTS = [Variant("bare", True, False), Variant("active", True, True), Variant("inert", False, True)]


def has_tests(python):
    done = subprocess.run([python, "-c", "import test._test_multiprocessing, test.test_subprocess"],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=30, env=bare_variables())
    return done.returncode == 0


def find_python():
    own = os.path.realpath(sys.executable)
    for python in (own, "/usr/bin/python3"):
        if os.path.exists(python) and has_tests(python):
            return python
    return skip("no Python with its own tests (libpython3-testsuite)")


def make_environment(python, folder, library):
    """A virtual environment whose every interpreter, even an isolated one, calls `library`."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=60,
                   stdin=subprocess.DEVNULL, capture_output=True, env=bare_variables())
    packages = next(folder.glob("lib/python3*/site-packages"))
    text = (CASES / "call_cudart.py").read_text().replace("@LIBCUDART@", str(library))
    (packages / "call_cudart.py").write_text(text)
    (packages / "call_cudart.pth").write_text("import call_cudart\n")
    return folder / "bin/python"


class Host:
    def __init__(self, python, folder):
        self.folder = folder
        self.calling = make_environment(python, folder / "calling", SIMULATED_CUDART)
        self.silent = make_environment(python, folder / "silent", "")

    def run(self, variant, module, patterns, timeout_s):
        """{test: outcome}, problems of the traces, the run."""
        with TracedPlace("cpython") as place, tempfile.TemporaryDirectory(dir=self.folder) as work:
            python = self.calling if variant.calls else self.silent
            variables = place.variables() if variant.traced else bare_variables()
            results = pathlib.Path(work, "results")
            inner = pathlib.Path(work, "work")
            inner.mkdir()
            variables |= {"TMPDIR": str(inner), "PYTHONDONTWRITEBYTECODE": "1"}
            command = [python, CASES / "run_module.py", results, module, *patterns]
            ended = contained.run(command, inner, variables, timeout_s)
            outcomes = read_outcomes(results)
            problems = list(place.problems(variant.calls)) if variant.traced and outcomes else []
            files = f"{len(place.rank_files())} rank files, {place.killed()} of them recovered"
            return outcomes, problems, ended, files


def read_outcomes(path):
    if not path.exists():
        return {}
    return dict(reversed(line.split("\t", 1)) for line in path.read_text().splitlines())


def best_of(tries, test):
    return min((outcomes.get(test, "missing") for outcomes in tries), key=RANK.index)


def differing(tries):
    """Tests whose best outcome is not that of the bare run."""
    tests = {test for variant in VARIANTS for outcomes in tries[variant.name] for test in outcomes}
    return sorted(test for test in tests
                  if len({best_of(tries[variant.name], test) for variant in VARIANTS}) > 1)


def is_explained(test, tries):
    why = next((EXPLAINED[name] for name in EXPLAINED if test.endswith("." + name)), None)
    if why is None or best_of(tries["inert"], test) != best_of(tries["bare"], test):
        return False
    print(f"explained: {test}: {why}")
    return True


def is_same(variant, tries):
    differ = [test for test in differing(tries)
              if best_of(tries[variant], test) != best_of(tries["bare"], test)]
    explained = all(any(test.endswith("." + name) for name in EXPLAINED) for test in differ)
    return "same" if not differ else "explained" if explained else "differs"


def compare_module(host, module, patterns, timeout_s, rows):
    tries, problems, said = collections.defaultdict(list), [], []
    wanted = patterns
    for attempt in range(TRIES):
        for variant in VARIANTS:
            outcomes, found, ended, files = host.run(variant, module, wanted, timeout_s)
            tries[variant.name].append(outcomes)
            problems += [f"{module}, {variant.name}: {problem}" for problem in found]
            if not outcomes:
                said.append(f"{module}, {variant.name}: no result: {ended}")
            if os.environ.get("KEEP_FAILED"):
                name = f"{module}-{variant.name}-{attempt}.err"
                pathlib.Path(os.environ["KEEP_FAILED"], name).write_text(ended.err)
            counts = ", ".join(f"{count} {name}" for name, count in
                               sorted(collections.Counter(outcomes.values()).items()))
            print(f"{module}, {variant.name}: {counts}; {ended.seconds:.1f} s, {files}, "
                  f"{ended.survivors} survivors", flush=True)
        wanted = [test for test in differing(tries) if not is_explained(test, tries)]
        if not wanted:
            break
        print(f"{module}: once more: {wanted[:20]}", flush=True)
    for test in differing(tries):
        if is_explained(test, tries):
            continue
        each = {variant.name: best_of(tries[variant.name], test) for variant in VARIANTS}
        problems.append(f"{module}: {test}: {each}")
    passed = sum(outcome == "passed" for outcome in tries["bare"][0].values())
    for variant, name in (("active", module), ("inert", f"{module}, nothing called")):
        rows[name] = {"absent": f"{passed} passed", "active": is_same(variant, tries)}
    return problems + said if problems or not tries["bare"][0] else []


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="each module whole, and more modules: an hour")
    parser.add_argument("--python", help="the interpreter whose tests are run")
    parser.add_argument("module", nargs="*")
    return parser.parse_args(ARGUMENTS)


def main():
    need(LIBRARY, "the library")
    given = arguments()
    python = given.python or find_python()
    modules = given.module or (WHOLE if given.whole else list(SHORT))
    print(subprocess.run([python, "--version"], capture_output=True, text=True).stdout.strip(), python)
    problems, rows = [], {}
    with tempfile.TemporaryDirectory(prefix="traceagent-hosts-") as folder:
        host = Host(python, pathlib.Path(folder))
        for module in dict.fromkeys(modules):
            whole = given.whole
            problems += compare_module(host, module, [] if whole else SHORT.get(module, []),
                                       1200 if whole else 120, rows)
    write_table("cpython", rows)
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
