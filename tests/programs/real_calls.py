"""Calls the real libcudart and libnccl through ctypes and prints what each call returned.

usage: real_calls.py LIBCUDART LIBNCCL
"""

import ctypes
import sys

runtime, nccl = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
pointer, stream, comm = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
unique_id = ctypes.create_string_buffer(128)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def call(library, name, *arguments):
    print(name, getattr(library, name)(*arguments), flush=True)


call(runtime, "cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(4096))
call(runtime, "cudaStreamCreate", ctypes.byref(stream))
call(runtime, "cudaMemset", pointer, 0, ctypes.c_size_t(4096))
call(runtime, "cudaMemcpy", pointer, unique_id, ctypes.c_size_t(128), 1)
call(runtime, "cudaDeviceSynchronize")
call(runtime, "cudaFree", pointer)
call(nccl, "ncclGetUniqueId", unique_id)
call(nccl, "ncclGroupStart")
call(nccl, "ncclGroupEnd")
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
call(nccl, "ncclCommInitRank", ctypes.byref(comm), 1, UniqueId.from_buffer(unique_id), 0)
