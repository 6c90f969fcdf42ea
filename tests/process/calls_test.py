#!/usr/bin/env python3
"""Every hooked call of a program's windows against the truth: RANKS NAME=VALUE... PROGRAM WORD..."""

import collections

from comparison import Comparison, argument_problems
from places import ARGUMENTS, BUILD
from traced_run import report, run_ranks


def message_problems(trace):
    """What one rank sends under a number is what the other receives under it."""
    sides = {"Dst Rank": collections.defaultdict(dict), "Src Rank": collections.defaultdict(dict)}
    for event in trace.events:
        # The kernels that carry the messages out name them too.
        args = event.get("args", {}) if event.get("cat") == "nccl" else {}
        for key, messages in sides.items():
            if key in args:
                ends = (args["comm rank"], args[key])
                of_pair = messages[args["comm hash"], ends if key == "Dst Rank" else ends[::-1]]
                if args["Seq"] in of_pair:
                    yield f"twice the same number: {event}"
                of_pair[args["Seq"]] = (args["In msg nelems"], args["dtype"])
    sent, received = sides.values()
    if sent != received:
        yield f"sent {dict(sent)}, received {dict(received)}"
    print(f"{sum(map(len, sent.values()))} messages")


def calls(folder):
    ranks, *words = ARGUMENTS
    split = next(i for i, word in enumerate(words) if "=" not in word)
    environment = dict(word.split("=", 1) for word in words[:split])
    run = run_ranks(folder, int(ranks), [BUILD / words[split], *words[split + 1:]], **environment)
    trace = run.trace()
    windows = {rank: [window[2:] for window in trace.windows(rank)] for rank in trace.ranks()}
    print(f"windows of steps: {windows}")
    yield from trace.problems()
    comparison = Comparison(trace, run.truth())
    print(f"{len(comparison.pairs)} calls of {len(trace.calls())} threads compared, "
          f"{comparison.edge_calls} on an edge, {comparison.in_flight} in flight")
    yield from comparison.problems
    yield from argument_problems(comparison.pairs)
    yield from message_problems(trace)
    if sorted(windows) != list(range(int(ranks))) or not comparison.pairs:
        yield "a rank is missing"


report(calls)
