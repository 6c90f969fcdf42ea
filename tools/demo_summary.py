#!/usr/bin/env python3
"""Says in a few lines what a run of tools/demo left: usage: demo_summary.py RUN_FOLDER OLDER_FILE

Whatever is older than that file is no file of this run's."""
import collections
import gzip
import json
import pathlib
import sys


ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def rank_line(rank, events):
    """All its events, as the agent's own line counts them."""
    phases = collections.Counter(e["ph"] for e in events)
    arrows, samples = phases["s"] + phases["t"] + phases["f"], phases["C"]
    steps = sum(e["name"].startswith("ProfilerStep#") for e in events)
    collectives = [e for e in events if e.get("cat") == "nccl" and "Collective name" in e["args"]]
    work = sum(e.get("cat") in ON_DEVICE for e in events)
    return (f"  rank {rank}: {steps} steps, {len(events)} events ({len(events) - arrows - samples} calls, device work and ranges, "
            f"{arrows} ends of arrows, {samples} samples of counters), {len(collectives)} collectives, "
            f"{sum(e.get('dur', 0) for e in collectives):.1f} us in them, {work} kernels and copies")


def longest(events, count=5):
    total = collections.Counter()
    for event in events:
        if event["ph"] == "X" and not event["name"].startswith("ProfilerStep#"):
            total[event["name"]] += event["dur"]
    return [f"  {us / 1000:8.1f} ms  {name}" for name, us in total.most_common(count)]


def node_file_of(run, older):
    found = sorted(run.glob("traces/node*.json*"))
    made = [file for file in found if file.stat().st_mtime_ns >= older.stat().st_mtime_ns]
    if made:
        return made[0]
    if found:
        sys.exit(f"traceagent: demo: this run made no node file: {found[0]} is an earlier run's: see the lines above: "
                 "set another TRACEAGENT_RUN_NAME, or TRACEAGENT_OUTPUT_OVERWRITE=true")
    sys.exit(f"traceagent: demo: no node file: {run}/traces: see the lines above")


def document_of(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    if len(sys.argv) != 3:
        print(f"traceagent: demo_summary: {len(sys.argv) - 1} words given: see demo_summary.py --help", file=sys.stderr)
        sys.exit(2)
    node_file = node_file_of(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    events = [e for e in document_of(node_file)["traceEvents"] if e["ph"] != "M"]
    by_rank = collections.defaultdict(list)
    for event in events:
        by_rank[event["pid"]].append(event)
    print(f"node file: {node_file} ({node_file.stat().st_size} bytes)")
    print(*(rank_line(rank, by_rank[rank]) for rank in sorted(by_rank)), sep="\n")
    on_device = [event for event in events if event.get("cat") in ON_DEVICE]
    on_host = [event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver", "nccl", "user_annotation")]
    print("most time on the host in:", *longest(on_host), sep="\n")
    if on_device:
        print("most time on the device in:", *longest(on_device), sep="\n")
    print("open the node file at https://ui.perfetto.dev, https://www.speedscope.app or chrome://tracing")


main()
