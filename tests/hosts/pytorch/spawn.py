"""torch.multiprocessing: processes that share tensors and reduce over gloo, and one that raises.

usage: spawn.py METHOD...        of: spawn fork forkserver
"""

import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from cudart_calls import calls


def reduce_with_others(rank, count, meeting, shared, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)
    returned = calls(3)
    value = torch.ones(8) * (rank + 1)
    dist.all_reduce(value)
    shared[rank] = value.sum()
    results.put((rank, value.tolist(), returned))
    dist.barrier()
    dist.destroy_process_group()


def raise_in_one(rank, first):
    calls()
    if rank == 0:
        first.value = os.getpid()
        return
    # The other one has ended and was waited for: PyTorch terminates it else, and says so, and which of the two is first is chance.
    while first.value == 0 or os.path.exists(f"/proc/{first.value}"):
        time.sleep(0.01)
    raise ValueError("the second of them")


def main():
    count = 2
    print("main", calls())
    for method in sys.argv[1:]:
        context = mp.get_context(method)
        shared, results = torch.zeros(count).share_memory_(), context.SimpleQueue()
        with tempfile.TemporaryDirectory() as folder:
            mp.start_processes(reduce_with_others, nprocs=count, start_method=method,
                               args=(count, os.path.join(folder, "meeting"), shared, results))
        print(method, sorted(results.get() for _ in range(count)), shared.tolist(), flush=True)
        try:
            mp.start_processes(raise_in_one, nprocs=count, start_method=method, args=(context.Value("i", 0),))
        except mp.ProcessRaisedException as error:
            print(type(error).__name__, error.error_index, str(error).strip().splitlines()[-1])
    sys.exit(3)


if __name__ == "__main__":
    main()
