"""CPython's tests of multiprocessing with the start method spawn. A module of its own, since the workers import it by its name."""

from test import _test_multiprocessing

_test_multiprocessing.install_tests_in_module_dict(globals(), "spawn")
