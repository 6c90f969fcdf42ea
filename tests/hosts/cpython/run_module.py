"""Runs one module of CPython's own tests in the interpreter it is given to, in the working folder.

usage: run_module.py RESULTS MODULE [PATTERN...]

RESULTS gets a line `OUTCOME test` for each test; with patterns, only tests whose name has one of them.
Not by `python -m test`: installed trees lack parts that it wants, and it hides outcomes of single tests.
"""

import collections
import importlib
import sys
import time
import unittest

# CPython's own are missing in installed trees of some versions.
OURS = ("multiprocessing_fork", "multiprocessing_spawn", "multiprocessing_forkserver")


class Outcomes(unittest.TextTestResult):
    """The worst that happened to each test; to its subtests, too."""

    RANK = ["passed", "expected failure", "skipped", "unexpected success", "failed", "error"]

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.seen = collections.OrderedDict()

    def _note(self, test, outcome):
        before = self.seen.get(test.id(), "passed")
        self.seen[test.id()] = max(before, outcome, key=self.RANK.index)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "error")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed")


def load(name):
    return importlib.import_module(name if name in OURS else "test." + name)


def flattened(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flattened(test)
        else:
            yield test


def main():
    results, name, *patterns = sys.argv[1:]
    from test import support
    # Of what tests may use: time, but no network.
    support.use_resources = ["cpu", "subprocess", "walltime", "largefile"]
    module = load(name)
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    if patterns:
        tests = unittest.TestSuite(test for test in flattened(tests)
                                   if any(pattern in test.id() for pattern in patterns))
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Outcomes)
    started = time.monotonic()
    result = runner.run(tests)
    # A module is skipped as a whole, or fails in its set-up, under a name of unittest's own.
    with open(results, "w") as file:
        for test, outcome in result.seen.items():
            file.write(f"{outcome}\t{test}\n")
    print(f"{len(result.seen)} tests, {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
