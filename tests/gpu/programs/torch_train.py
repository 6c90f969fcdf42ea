"""Trains a small model and prints each step's loss. The same seed gives the same kernels every time.

--turns: steps are run as standard input asks, a line "N" for N of them, and their times in
nanoseconds are printed as one JSON line: processes can take turns on a machine.
"""
import argparse
import contextlib
import json
import os
import signal
import sys
import time

import torch

from torch_models import Mlp, Tokens, Transformer, triton_scale

WORDS = 1000


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "transformer"], default="transformer")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "autocast"], default="fp32")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--layers", type=int, help="default: the model's own")
    parser.add_argument("--width", type=int, help="default: the model's own")
    parser.add_argument("--settle-in-steps", default="2", help="1,3 where to wait for who watches in steps 1 and 3")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--accumulate", type=int, default=1)
    for flag in ("compile", "graphs", "checkpointing", "triton", "turns"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--profile", help="torch.profiler records as --schedule says; its trace goes here")
    parser.add_argument("--schedule", default="3,1,4", help="wait, warm-up and active steps of --profile")
    parser.add_argument("--end", choices=["return", "exception", "os._exit", "SIGTERM", "SIGKILL"], default="return")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    options.settle_in_steps = [int(word) for word in options.settle_in_steps.split(",")]
    return options


class Training:
    def __init__(self, options):
        self.options, self.on_gpu = options, options.device == "cuda"
        torch.manual_seed(0)
        # Attention's backward pass adds in any order otherwise: losses would differ between runs.
        torch.use_deterministic_algorithms(True, warn_only=True)
        kind = {"mlp": Mlp, "transformer": Transformer}[options.model]
        scale = triton_scale() if options.triton else None
        if options.triton and scale is None:
            sys.exit(77)
        size = {name: value for name in ("layers", "width") if (value := getattr(options, name))}
        self.model = kind(words=WORDS, recompute=options.checkpointing, scale=scale, **size).to(options.device)
        if options.dtype == "bf16":
            self.model = self.model.to(torch.bfloat16)
        self.called = torch.compile(self.model) if options.compile else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, capturable=options.graphs)
        self.batches = self._batches()
        self.graph = self._captured() if options.graphs else None

    def _batches(self):
        data = Tokens(4096, self.options.length, WORDS)
        # Workers are forked where the job forks them: children of a process that has CUDA.
        loader = torch.utils.data.DataLoader(data, batch_size=self.options.batch, pin_memory=self.on_gpu,
                                             num_workers=self.options.workers)
        while True:
            for batch in loader:
                yield [part.to(self.options.device, non_blocking=True) for part in batch]

    def _loss(self, tokens, wanted):
        autocast = self.options.dtype == "autocast"
        with torch.autocast(self.options.device, torch.bfloat16) if autocast else contextlib.nullcontext():
            logits = self.called(tokens)
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())

    def _captured(self):
        self.static = [part.clone() for part in next(self.batches)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update(*self.static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.static_loss = self._update(*self.static)
        return graph

    def _update(self, tokens, wanted):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(tokens, wanted)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def step(self):
        if self.graph is not None:
            for mine, new in zip(self.static, next(self.batches)):
                mine.copy_(new)
            self.graph.replay()
            return self.static_loss
        if self.options.accumulate == 1:
            return self._update(*next(self.batches))
        self.optimizer.zero_grad(set_to_none=True)
        for _ in range(self.options.accumulate):
            loss = self._loss(*next(self.batches)) / self.options.accumulate
            loss.backward()
        self.optimizer.step()
        return loss.detach()

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    @contextlib.contextmanager
    def marked(self):
        if self.on_gpu:
            torch.cuda.nvtx.range_push("step")
        yield
        if self.on_gpu:
            torch.cuda.nvtx.range_pop()


def profiler_of(options, keep=True):
    if not options.profile:
        return None
    wait, warmup, active = (int(word) for word in options.schedule.split(","))
    activities = [torch.profiler.ProfilerActivity.CPU]
    if options.device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    repeat = 1 if keep else 0
    return torch.profiler.profile(
        activities=activities, acc_events=False,
        schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=repeat),
        on_trace_ready=(lambda done: done.export_chrome_trace(options.profile)) if keep else (lambda done: None))


def settle():
    """Who watches needs time: to switch on what it needs, or to be told of the GPU's last work."""
    time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))


def end_by(how):
    if how == "exception":
        raise RuntimeError("the end")
    if how == "os._exit":
        os._exit(7)
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))


def run_turns(training, profiler):
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter_ns()
            with training.marked():
                training.step()
                training.synchronize()
            times.append(time.perf_counter_ns() - begin)
            if profiler:
                profiler.step()
        print(json.dumps(times), flush=True)


def run_steps(training, profiler, options):
    for step in range(options.steps):
        with training.marked():
            loss = training.step()
            training.synchronize()
            print(f"step {step} loss {float(loss):.3f}", flush=True)
            if step in options.settle_in_steps:
                settle()
        if profiler:
            profiler.step()
        if step == options.steps - 2:
            if options.end == "os._exit" or options.end.startswith("SIG"):
                settle()  # nobody is asked before these ends
            end_by(options.end)


def main():
    options = arguments()
    training = Training(options)
    profiler = profiler_of(options, keep=not options.turns)
    with profiler or contextlib.nullcontext():
        if options.turns:
            run_turns(training, profiler)
        else:
            run_steps(training, profiler, options)


if __name__ == "__main__":
    main()
