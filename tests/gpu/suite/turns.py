"""Processes that take turns: each runs a few steps when told, so that all meet the same machine."""

import contextlib
import json
import os
import statistics

WARM_UP_TURNS = 2


class Player:
    """A program that reads "N" and answers with the times of N steps as one JSON line."""

    def __init__(self, bench, name, command, variables):
        self.name, self.times, self._bench = name, [], bench
        self.folder = bench.new_folder(name)
        self._errors = open(self.folder / "stderr.txt", "w+")
        self._process = bench.start_talking(command, variables(self.folder), self.folder, self._errors)

    def turn(self, steps):
        line = ""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{steps}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(f"{self.name} ended: {self._errors.read()[-900:]}")
        return json.loads(line)

    def end(self):
        self._process.stdin.close()
        code = self._process.wait(timeout=120)
        self._errors.seek(0)
        err = self._errors.read()
        self._errors.close()
        return code, err


def play(bench, modes, *, steps_in_turn, turns, cpus=4):
    """modes: {name: (command, variables of its folder)}. {name: Player} with times of all turns. All have the same
    few CPUs, since a virtual machine's differ by a fifth; only one plays at a time."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])
    players = [Player(bench, name, command, variables) for name, (command, variables) in modes.items()]
    for _ in range(WARM_UP_TURNS):
        for player in players:
            player.turn(steps_in_turn)
    for turn in range(turns):
        # Another first one each time: what a turn leaves behind (heat, caches) meets all alike.
        for player in players[turn % len(players):] + players[:turn % len(players)]:
            player.times += player.turn(steps_in_turn)
    for player in players:
        code, err = player.end()
        bench.row.check(code == 0, f"{player.name}: exit code {code}, {err[-500:]}")
    return {player.name: player for player in players}


def median_us(times_ns):
    return statistics.median(times_ns) / 1000


def spread(times_ns):
    """The middle 80 % as "a to b us"."""
    tenths = statistics.quantiles(times_ns, n=10)
    return f"{tenths[0] / 1000:.0f} to {tenths[-1] / 1000:.0f} us"


def added_percent(times_ns, bare_ns, steps_in_turn):
    """(median, lower and upper quartile) over the turns: by how much each turn's median is above that of the
    bare process' turn beside it. A machine that is slower for some seconds is so for both."""
    turns = [slice(begin, begin + steps_in_turn) for begin in range(0, len(bare_ns), steps_in_turn)]
    added = [100 * (statistics.median(times_ns[turn]) / statistics.median(bare_ns[turn]) - 1) for turn in turns]
    lower, middle, upper = statistics.quantiles(added, n=4)
    return middle, lower, upper
