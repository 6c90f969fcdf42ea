"""What each part of CUPTI costs a step of PyTorch, without the agent: stages (cupti_stages.cuh) in the order given.

usage: torch_stages.py LIBRARY LIBCUPTI STEPS STAGE... [-- OPTIONS of torch_train.py]; LIBRARY: cupti_stages.cu,
compiled. Prints "STAGE US CHEAP_NS": a step's median, a call's that launches nothing.
"""
import ctypes
import os
import statistics
import sys
import time

import torch_train


def step_us(training, steps):
    times = []
    for _ in range(steps):
        begin = time.perf_counter_ns()
        training.step()
        training.synchronize()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1000


def main():
    words, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    path, cupti, steps, *stages = words.split()
    sys.argv[1:] = options.split()
    training = torch_train.Training(torch_train.arguments())
    step_us(training, int(steps))
    library = ctypes.CDLL(path)
    library.stages_open.restype = library.stages_enter.restype = ctypes.c_bool
    library.stages_cheap_call_ns.restype = ctypes.c_double
    if not library.stages_open(cupti.encode()):
        sys.exit(77)
    for stage in stages:
        is_well = library.stages_enter(stage.encode())
        print(stage + ("" if is_well else "(refused)"), f"{step_us(training, int(steps)):.0f}",
              f"{library.stages_cheap_call_ns():.1f}", flush=True)
    os._exit(0)  # CUPTI's last buffers may come back when what counts them is gone


if __name__ == "__main__":
    main()
