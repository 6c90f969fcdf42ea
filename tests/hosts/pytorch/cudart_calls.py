"""A few calls into the libcudart that HOST_CUDART names, by ctypes: the agent starts in this process."""

import ctypes
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import mapped  # noqa: E402

_library = None


def calls(count=1):
    """What they returned: the same with the agent as without."""
    global _library
    if _library is None:
        _library = ctypes.CDLL(os.environ["HOST_CUDART"])
    returned = []
    for _ in range(count):
        pointer = ctypes.c_void_p()
        returned += [_library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1024)),
                     _library.cudaMemset(pointer, 0, ctypes.c_size_t(1024)),
                     _library.cudaDeviceSynchronize(), _library.cudaFree(pointer)]
    mapped.write_down()
    return returned
