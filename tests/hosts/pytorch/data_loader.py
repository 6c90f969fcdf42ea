"""Data loaders whose workers are forked or spawned; some are left in the middle, raise, or are killed.

usage: data_loader.py fork|spawn PART...        of: epochs calls left raise kill
"""

import os
import signal
import sys

import torch
from cudart_calls import calls
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    """`calls_in_worker`: the worker, too, has an agent. `at` and `what`: it goes wrong at that number."""

    def __init__(self, size, calls_in_worker=False, at=-1, what=None):
        self.size, self.calls_in_worker, self.at, self.what = size, calls_in_worker, at, what

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if i == self.at and self.what == "raise":
            raise ValueError(f"bad number {i}")
        if i == self.at and self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.calls_in_worker:
            # No pinned memory here; a call that fails in a forked child is a call like any other.
            calls()
        return torch.full((4,), float(i))


def loader(numbers, **more):
    return DataLoader(numbers, batch_size=8, num_workers=2, multiprocessing_context=sys.argv[1],
                      timeout=60, **more)


def total(batches):
    seen = []
    for batch in batches:
        calls()
        seen.append(batch.sum().item())
    return seen


def two_epochs():
    batches = loader(Numbers(48), persistent_workers=True)
    return [total(batches), total(batches)]


def left_in_the_middle():
    batches = iter(loader(Numbers(400)))
    return [next(batches).sum().item() for _ in range(3)]


def failure_of_one():
    try:
        return total(loader(Numbers(48, True, 21, "raise")))
    except ValueError as error:
        return str(error).strip().splitlines()[-1]


def death_of_one():
    # How the others learn of it is chance: by the signal, or by what they were just handing over.
    try:
        return total(loader(Numbers(48, True, 21, "kill")))
    except (RuntimeError, EOFError, OSError):
        return "has died"


PARTS = {"epochs": two_epochs, "calls": lambda: total(loader(Numbers(48, True))),
         "left": left_in_the_middle, "raise": failure_of_one, "kill": death_of_one}


def main():
    torch.set_num_threads(1)
    print("main", calls(2))
    for part in sys.argv[2:]:
        print(part, PARTS[part]())
    print("after", calls(), flush=True)
    sys.exit(3)  # not 0, so that a lost exit code shows


if __name__ == "__main__":
    main()
