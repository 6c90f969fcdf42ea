"""The CUDA run-time library by ctypes, as small tools use it. usage: ctypes_calls.py LIBCUDART"""
import ctypes
import os
import sys
import time

cudart = ctypes.CDLL(sys.argv[1])
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
SIZE = 1 << 20


def call(name, *arguments):
    result = getattr(cudart, name)(*arguments)
    if result != 0:
        sys.exit(f"{name}: error {result}")


def step(number, device, host):
    # Each synchronization begins a step for the agent: call:cudaDeviceSynchronize.
    call("cudaDeviceSynchronize")
    for _ in range(10):
        call("cudaMemset", device, number, ctypes.c_size_t(SIZE))
        call("cudaMemcpy", host, device, ctypes.c_size_t(SIZE), DEVICE_TO_HOST)
        call("cudaMemcpy", device, host, ctypes.c_size_t(SIZE), HOST_TO_DEVICE)
    if number == 0:
        time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))


device, host = ctypes.c_void_p(), ctypes.c_void_p()
call("cudaMalloc", ctypes.byref(device), ctypes.c_size_t(SIZE))
call("cudaMallocHost", ctypes.byref(host), ctypes.c_size_t(SIZE))
for number in range(3):
    step(number, device, host)
call("cudaDeviceSynchronize")
print(ctypes.string_at(host, 4).hex())
for what in ("set -", "copy DtoH", "copy HtoD"):
    print(f"expect {what} 20 {20 * SIZE}")
