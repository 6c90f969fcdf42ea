#!/usr/bin/env python3
"""Four ranks under load for as long as told, killed and started again; every event is accounted for.

usage: soak.py BUILD DEPS [--minutes N | --short] [--rate EVENTS_PER_SECOND] [--seed S] [--leak BYTES]

--leak: every rank loses so many bytes in every step: shows that the soak finds it."""

import concurrent.futures
import dataclasses
import pathlib
import random
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "process"))

# The path above comes first: what is imported here lies there.
from accounts import Account  # noqa: E402
from epoch import Epoch  # noqa: E402
from jobs import TRACEAGENT, variables_of  # noqa: E402
from places import ARGUMENTS, LIBRARY, need  # noqa: E402
from ranks import PROGRAM  # noqa: E402
from survivor import Survivor  # noqa: E402

MIB = 1 << 20


@dataclasses.dataclass
class Load:
    events_per_s: int = 200_000
    step_ms: int = 50
    wait: int = 159  # of a cycle's steps; then one of warm-up
    active: int = 40
    ranks: int = 4
    settle_s: float = 60  # from then on memory is flat
    flat: float = 0.05
    flat_outside_kib: int = 1024  # outside the ring a 20th is less than the allocator's arenas breathe
    look_s: float = 1
    ring: str = "64MiB"
    small_ring: str = "8MiB"  # too small for a window: what finds no room is counted
    leak_bytes: int = 0  # of every rank, per step
    budget: dict = dataclasses.field(default_factory=dict)

    def cycle_steps(self):
        return self.wait + 1 + self.active

    def cycle_s(self):
        return self.cycle_steps() * self.step_ms / 1000

    def schedule(self):
        return f"wait={self.wait},warmup=1,active={self.active},repeat=0"

    def ring_size(self, rank, epoch):
        return self.small_ring if epoch.merges and rank == 2 else self.ring


SHORT = {"events_per_s": 20_000, "step_ms": 20, "wait": 34, "active": 15, "settle_s": 2, "flat": 0.25, "look_s": 0.2,
         "ring": "8MiB", "small_ring": "256KiB"}
ENDS = ("stop", "kill_all", "kill_zero", "kill_other")


def plan(minutes, short, chance, load, folder, rings):
    """Rounds of a long run without a merge, whose files go as they come, and a short one with one."""
    rounds = 1 if short else max(1, round(minutes / 5))
    merged_s = 2.6 if short else min(50, 15 * minutes)
    alone_s = 7 if short else minutes * 60 / rounds - merged_s
    kill_every_s = 2.2 if short else 25
    ends = list(ENDS)
    chance.shuffle(ends)
    for number in range(rounds):
        times = [at + chance.uniform(-0.4, 0.4) * kill_every_s
                 for at in range_of(kill_every_s, alone_s - 0.5 * kill_every_s)]
        yield Epoch(2 * number, False, alone_s, ("stop", "kill_all")[number % 2], times, chance, load, folder, rings)
        times = [merged_s * chance.uniform(0.5, 0.7)]
        yield Epoch(2 * number + 1, True, merged_s, ends[number % len(ends)], times, chance, load, folder, rings)


def range_of(step, end):
    return [step * number for number in range(1, int(end / step) + 1)]


class Progress:
    def __init__(self, every_s):
        self._every_s, self._started, self._next_s = every_s, time.monotonic(), every_s

    def __call__(self, epoch):
        now_s = time.monotonic() - self._started
        if now_s < self._next_s:
            return
        self._next_s += self._every_s
        sums = epoch.account.sums
        print(f"{now_s / 60:5.1f} min: epoch {epoch.name()}: {epoch.kills} kills, {sums['windows']} windows, "
              f"{sums['written'] + sums['recovered']:,} events written, {sums['dropped']:,} dropped, files at most "
              f"{epoch.most_bytes // MIB} MiB, rings at most {epoch.most_shm_kib >> 10} MiB, "
              f"{len(epoch.account.problems)} problems", flush=True)


COLUMNS = ("made", "outside", "in_windows", "written", "recovered", "dropped", "lost", "merged")


def row_of(sums):
    lost = sums["in_windows"] - sums["written"] - sums["recovered"] - sums["dropped"]
    return dict(sums) | {"lost": lost, "outside": sums["made"] - sums["in_windows"]}


def print_events(epochs, total):
    print(f"\n{'epoch':28} {'ranks':>6} {'kills':>6} {'files':>6} " + " ".join(f"{name:>13}" for name in COLUMNS))
    for name, kills, sums in [*((epoch.name(), epoch.kills, epoch.account.sums) for epoch in epochs),
                              ("all", sum(epoch.kills for epoch in epochs), total.sums)]:
        row = row_of(sums)
        print(f"{name:28} {row.get('processes', 0):>6} {kills:>6} {row.get('windows', 0):>6} " +
              " ".join(f"{row.get(column, 0):>13,}" for column in COLUMNS))
    print("lost: of those that had been published. merged: numbered events in the node's files, as in the ranks'.")


def print_memory(epochs, survivor, load):
    print(f"\nafter {load.settle_s:g} s   {'turns':>6} {'MiB at rest':>12} {'away':>7} {'less ring':>10} {'away':>7} {'peak MiB':>9} {'grows':>7} "
          f"{'ring':>6} {'fds':>5} {'threads':>8}   bare grew")
    for epoch in (*epochs, survivor):
        for rank, flat in epoch.flatness:
            print(f"epoch {epoch.number} rank {rank} {len(flat.base):>6} {flat.base[0] / 1024:>12.1f} "
                  f"{flat.base_away():>7.1%} {flat.outside[0] / 1024:>10.1f} {flat.outside_away():>7.1%} {max(flat.peaks) / 1024:>9.1f} {flat.peak_growth():>7.1%} "
                  f"{flat.rings[-1] / 1024:>6.1f} {max(flat.descriptors):>5} {max(flat.threads):>8}   "
                  f"{flat.bare_growth_kib} KiB")
    alone = [epoch.most_shm_kib for epoch in epochs if not epoch.merges]
    print(f"rings: at most {max(alone) / 1024:.1f} MiB where the dead are recovered at once; "
          f"files: at most {max(epoch.most_bytes for epoch in epochs) / MIB:.0f} MiB")
    return alone


def budget_off():
    """The soak asks for every event: the agent's own thrift is another test's matter."""
    shown = subprocess.run([TRACEAGENT, "options"], capture_output=True, text=True, timeout=60, env=variables_of())
    return {"TRACEAGENT_BUDGET_OVERHEAD": "0"} if "TRACEAGENT_BUDGET_OVERHEAD" in shown.stdout else {}


def run_all(minutes, short, seed, load, folder, rings):
    """Epochs one after the other, and beside them all the survivor: (epochs, survivor, sums of all)."""
    total, epochs, progress = Account(), [], Progress(5 if short else 60)
    planned = list(plan(minutes, short, random.Random(seed), load, *own_places("epochs", folder, rings)))
    survivor = Survivor(len(planned), random.Random(seed), load, *own_places("survivor", folder, rings))

    def add(epoch):
        total.add(epoch.account)
        print(*epoch.account.problems[:10], sep="\n", end="\n" if epoch.account.problems else "", flush=True)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        living = pool.submit(survivor.run, lambda _: None)
        try:
            for epoch in planned:
                epochs.append(epoch.run(progress))
                add(epoch)
        finally:
            survivor.may_end()
        add(living.result())
    return epochs, survivor, total


def own_places(name, *folders):
    """What is left in memory is asked of each run: rings lie apart."""
    places = [folder / name for folder in folders]
    for place in places:
        place.mkdir()
    return places


def main():
    need(LIBRARY, "the library")
    need(PROGRAM, "the program")
    words = dict(zip(ARGUMENTS, [*ARGUMENTS[1:], ""]))
    short = "--short" in ARGUMENTS
    minutes, seed = float(words.get("--minutes", 30)), int(words.get("--seed", random.randrange(10**6)))
    load = Load(**(SHORT if short else {}), budget=budget_off())
    load.events_per_s = int(words.get("--rate", load.events_per_s))
    load.leak_bytes = int(words.get("--leak", 0))
    print(f"seed {seed}: {load.ranks} ranks and a survivor, {load.events_per_s:,} events/s each, a cycle every "
          f"{load.cycle_s():g} s", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traceagent-soak-") as folder, \
            tempfile.TemporaryDirectory(prefix="traceagent-soak-", dir="/dev/shm") as rings:
        epochs, survivor, total = run_all(minutes, short, seed, load, pathlib.Path(folder), pathlib.Path(rings))
    print_events([*epochs, survivor], total)
    alone = print_memory(epochs, survivor, load)
    seconds = time.monotonic() - started
    if max(alone) > (1 + load.flat) * min(alone):
        total.problems.append(f"the rings' memory differs from epoch to epoch: {alone} KiB")
    if not short and not survivor.flatness:
        total.problems.append("the survivor did not live long enough to show that memory is flat")
    if row_of(total.sums)["lost"]:
        total.problems.append("events are lost")
    rate = total.sums["made"] / seconds / (load.ranks + 1)
    print(f"{total.sums['made']:,} events, {sum(epoch.kills for epoch in epochs)} kills, {seconds:.0f} s, "
          f"{rate:,.0f} events/s a rank: {len(total.problems)} problems")
    sys.exit(1 if total.problems else 0)


if __name__ == "__main__":
    main()
