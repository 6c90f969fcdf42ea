"""Loaded by the `.pth` file of the tests' environment, at the start of every interpreter in it: calls
libcudart, so that the agent is on in this process, and again in each forked child.

Copied into the environment, with LIBCUDART filled in: tests clear variables and paths.
"""

import ctypes
import os

LIBCUDART = "@LIBCUDART@"


def call():
    _library.cudaDeviceSynchronize()


if LIBCUDART:
    _library = ctypes.CDLL(LIBCUDART)
    call()
    os.register_at_fork(after_in_child=call)
