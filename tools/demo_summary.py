#!/usr/bin/env python3
"""Says in a few lines what a run of tools/demo left: usage: demo_summary.py RUN_FOLDER"""
import collections
import json
import pathlib
import sys


ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def rank_line(rank, events):
    steps = sum(e["name"].startswith("ProfilerStep#") for e in events)
    collectives = [e for e in events if e["cat"] == "nccl" and "Collective name" in e["args"]]
    work = sum(e["cat"] in ON_DEVICE for e in events)
    return (f"  rank {rank}: {steps} steps, {len(events)} events, {len(collectives)} collectives, "
            f"{sum(e.get('dur', 0) for e in collectives):.1f} us in them, {work} kernels and copies")


def longest(events, count=5):
    total = collections.Counter()
    for event in events:
        if event["ph"] == "X" and not event["name"].startswith("ProfilerStep#"):
            total[event["name"]] += event["dur"]
    return [f"  {us / 1000:8.1f} ms  {name}" for name, us in total.most_common(count)]


def main():
    run = pathlib.Path(sys.argv[1])
    node_files = sorted(run.glob("traces/node*.json*"))
    if not node_files:
        sys.exit(f"traceagent: demo: no node file: {run}/traces: see the lines above")
    node = json.loads(node_files[0].read_text())
    events = [e for e in node["traceEvents"] if e["ph"] in "Xi"]
    by_rank = collections.defaultdict(list)
    for event in events:
        by_rank[event["pid"]].append(event)
    print(f"node file: {node_files[0]} ({node_files[0].stat().st_size} bytes)")
    print(*(rank_line(rank, by_rank[rank]) for rank in sorted(by_rank)), sep="\n")
    on_device = [event for event in events if event["cat"] in ON_DEVICE]
    on_host = [event for event in events if event["cat"] in ("cuda_runtime", "cuda_driver", "nccl", "user_annotation")]
    print("most time on the host in:", *longest(on_host), sep="\n")
    if on_device:
        print("most time on the device in:", *longest(on_device), sep="\n")
    print("open the node file at https://ui.perfetto.dev, https://www.speedscope.app or chrome://tracing")


main()
