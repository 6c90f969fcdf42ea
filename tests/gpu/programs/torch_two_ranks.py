"""torch.distributed over NCCL, two ranks that may share a GPU. usage: torch_two_ranks.py STORE"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=size,
                        timeout=datetime.timedelta(seconds=60))
pair = dist.new_group([0, 1])
x = torch.full((1 << 18,), float(rank + 1), device="cuda")
part = torch.zeros(1 << 17, device="cuda")
half = torch.ones(4096, device="cuda", dtype=torch.bfloat16)


def operations():
    y = x.clone()
    dist.all_reduce(y)
    dist.all_gather_into_tensor(y, part)
    dist.reduce_scatter_tensor(part, y)
    dist.broadcast(y, src=1)
    dist.all_reduce(half, op=dist.ReduceOp.MAX, group=pair)
    other = torch.empty_like(part)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, part, 1 - rank),
                                        dist.P2POp(dist.irecv, other, 1 - rank)]):
        work.wait()
    return float(y.sum() + other.sum() + half.float().sum())


for step in range(4):
    torch.cuda.nvtx.range_push("step")
    if step < 3:
        print(f"{operations():.3f}", flush=True)
        torch.cuda.synchronize()
        if step == 0:
            time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))
    torch.cuda.nvtx.range_pop()
dist.destroy_process_group()
