"""A transformer on two ranks that may share a GPU, DistributedDataParallel. usage: torch_ddp.py STORE"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from torch_models import Tokens, Transformer

WORDS, BATCH = 1000, 8
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=size,
                        timeout=datetime.timedelta(seconds=60))
torch.manual_seed(0)
# Attention adds in any order otherwise: losses would differ between runs.
torch.use_deterministic_algorithms(True, warn_only=True)
model = DistributedDataParallel(Transformer(layers=6, width=512, heads=8, words=WORDS).cuda(), device_ids=[0])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = Tokens(64, 256, WORDS)


def train(step):
    first = (step * size + rank) * BATCH
    tokens, wanted = (torch.stack(part).cuda() for part in zip(*(data[i] for i in range(first, first + BATCH))))
    with torch.autocast("cuda", torch.bfloat16):
        logits = model(tokens)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


for step in range(4):
    torch.cuda.nvtx.range_push("step")
    if step < 3:
        print(f"step {step} loss {train(step):.2f}", flush=True)
        torch.cuda.synchronize()
        if step == 0:
            time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))
    torch.cuda.nvtx.range_pop()
dist.destroy_process_group()
