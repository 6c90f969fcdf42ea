"""The GPU's memory that the agent takes, seen from outside: nvidia-smi, while nothing else runs."""

import time

from cases.overhead import modes_of
from suite.case import Skip, case
from suite.machine import output_of
from suite.turns import Player

# CUPTI's buffers on the device are made with the first work that it records.
BUSY_S = 2.0


def used_mib():
    query = "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"
    said = output_of("nvidia-smi", *query)
    if not said.isdigit():
        raise Skip(f"nvidia-smi says {said!r} of the memory in use")
    return int(said)


def wait_for(used, patience_s=10):
    """A process that has ended may hold its memory for a moment."""
    end = time.monotonic() + patience_s
    while used_mib() > used and time.monotonic() < end:
        time.sleep(0.2)


def taken_mib(bench, name, command, variables):
    """By a process of this mode, its context's and its own."""
    before = used_mib()
    player = Player(bench, name, command, variables)
    end = time.monotonic() + BUSY_S
    while time.monotonic() < end:
        player.turn(10)
    taken = used_mib() - before
    code, err = player.end()
    bench.row.check(code == 0, f"{name}: exit code {code}, {err[-500:]}")
    wait_for(before)
    return taken


@case("GPU memory of a process: bare, idle, active", limit_s=60, alone=True)
def gpu_memory(bench):
    used_mib()
    command, variables = [bench.compiler.program("launches")], bench.cuda_variables(GPU_LAUNCHES=100)
    taken = {name: taken_mib(bench, name, *mode) for name, mode in modes_of(bench, command, variables).items()}
    for name, mib in taken.items():
        bench.row.figure(name, f"{mib} MiB" if name == "bare" else f"{mib - taken['bare']:+d} MiB")
