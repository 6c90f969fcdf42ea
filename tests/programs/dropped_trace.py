"""Steps of calls into libcudart, by ctypes; in one of them another profiler looks at a cudaMalloc, and drops its trace
into the folder of the run: PyTorch's, or one that is written here.

usage: dropped_trace.py plain|torch LIBCUDART FOLDER
"""
import ctypes
import faulthandler
import json
import os
import pathlib
import sys
import time

STEPS, LOOKED_AT = 10, 6
# Far more than clocks are apart that are read in one process, far less than a base that is missed.
APART_S = 0.001

faulthandler.dump_traceback_later(200, exit=True)  # says where it hangs, before it is ended
kind, cudart, folder = sys.argv[1], ctypes.CDLL(sys.argv[2]), pathlib.Path(sys.argv[3])
path = folder / f"host_{os.getpid()}.{time.time_ns() // 1_000_000}.pt.trace.json"


def allocate():
    pointer = ctypes.c_void_p()
    time.sleep(APART_S)
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1024)) == 0
    time.sleep(APART_S)


def plain():
    """With slices named as PyTorch's below."""
    times = [time.time_ns()]
    for action in (None, allocate, None):
        if action:
            action()
        times.append(time.time_ns())
    slices = [("before", *times[:2]), ("around", *times[1:3]), ("after", *times[2:])]
    path.write_text(json.dumps({"baseTimeNanoseconds": times[0], "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": name, "pid": os.getpid(), "tid": 1, "ts": (begin - times[0]) / 1000,
         "dur": (end - begin) / 1000} for name, begin, end in slices]}))


def torch():
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for name, action in (("before", None), ("around", allocate), ("after", None)):
            with record_function(name):
                if action:
                    action()
    profiler.export_chrome_trace(str(path))


def wait_for_a_window():
    """The first has ended some steps ago; the run has its folder from then on."""
    until = time.monotonic() + 30
    while not list(folder.glob("rank*.json")) and time.monotonic() < until:
        time.sleep(0.01)


for step in range(STEPS):
    if step == LOOKED_AT:
        wait_for_a_window()
        {"plain": plain, "torch": torch}[kind]()
        print(f"dropped beside {sum(other != path for other in folder.glob('*.pt.trace.json'))}")
    assert cudart.cudaDeviceSynchronize() == 0
