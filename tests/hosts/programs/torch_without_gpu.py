"""PyTorch's CUDA build on a machine without a GPU: what it tells and refuses, and work on the CPU.

By hand, see README.md: its wheels are several GB.
"""

import sys

import torch


def refused(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).strip().splitlines()[0]


print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.nccl.version())
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized())
for call in (torch.cuda.init, torch.cuda.current_device, torch.cuda.synchronize,
             lambda: torch.zeros(4, device="cuda"), lambda: torch.zeros(4).pin_memory(),
             lambda: torch.cuda.Stream(), lambda: torch.cuda.nvtx.range_push("range"),
             lambda: torch.cuda.cudart().cudaGetErrorString(torch.cuda.cudart().cudaError(100))):
    print(refused(call))
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                        torch.profiler.ProfilerActivity.CUDA]) as profile:
    for _ in range(5):
        loss = model(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item(), sorted({event.key for event in profile.key_averages()})[:10])
sys.exit(3)
