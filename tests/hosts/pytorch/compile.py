"""torch.compile on the CPU: Inductor's worker processes, and g++ as their child."""

import sys

import torch
import torch._inductor.config as inductor
from cudart_calls import calls


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    inductor.compile_threads = 2
    print("before", calls())
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    data = torch.randn(8, 16)
    compiled = torch.compile(model)
    with torch.no_grad():
        print("equal", torch.allclose(model(data), compiled(data), atol=1e-6))
    from torch._dynamo.utils import counters
    print("compiled", counters["inductor"]["fxgraph_cache_miss"], counters["stats"]["unique_graphs"])
    print("after", calls(), flush=True)
    sys.exit(3)


if __name__ == "__main__":
    main()
