"""Prints PyTorch's versions, and where the CUPTI lies that its profiler uses, as JSON."""
import json

import torch

facts = {"PyTorch": torch.__version__, "CUDA of PyTorch": torch.version.cuda}
if torch.cuda.is_available():
    facts["NCCL of PyTorch"] = ".".join(map(str, torch.cuda.nccl.version()))
with open("/proc/self/maps") as maps:
    facts["CUPTI of PyTorch"] = next((line.split(maxsplit=5)[5].strip() for line in maps if "/libcupti.so" in line), None)
print(json.dumps(facts))
