#!/usr/bin/env python3
"""Holistic Trace Analysis on the rank files of a job, as they are, against the simulator's truth.

usage: hta_device_test.py BUILD DEPS      after device_truth_test.py … plain, whose files it reads
HTA leaves out the last ProfilerStep, and with it the work that this step launched.
"""
import collections
import os
import pathlib
import shutil
import sys
import tempfile

from gpu_times import extent, length, shared
from places import BUILD, VENV, need

FOLDER = BUILD / "tests/device_demo"
# The calls that HTA counts as launches, in its queue lengths and in its launch statistics.
QUEUED = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")
TIMED = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")


class Work:
    """A piece of device work by the truth, and the host call behind it."""

    def __init__(self, event, record, origin, call):
        self.name, self.stream = event["name"], record["cupti_stream"]
        self.span = (record["begin_ns"], record["kernel_end_ns"] or record["end_ns"])
        self.origin, self.call, self.correlation = origin, call, event["args"]["correlation"]
        self.kind = "COMMUNICATION" if self.name.startswith("nccl") else \
            "MEMORY" if self.name.startswith("Mem") else "COMPUTATION"


def work_by_rank():
    """{rank: [Work]} of the steps that HTA looks at."""
    from device_truth import DeviceComparison
    from trace_file import Trace
    from truth import Truth
    trace = Trace(FOLDER / "run/traces/node0.json")
    compared = DeviceComparison(trace, Truth(FOLDER.glob("*.truth")))
    calls = {(call["rank"], call["number"]): (event, call) for event, call in compared.calls.pairs}
    host = {(event["pid"], event["args"]["correlation"]): event for event in trace.events
            if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "cuda_driver", "nccl")}
    kept = collections.defaultdict(list)
    for event, record in compared.pairs:
        rank = record["rank"]
        launch = calls.get((rank, record["launch_number"]))
        last_step = max(begin for begin, _ in trace.steps(rank).values())
        if launch and trace.begin_ns(launch[0]) < last_step:
            kept[rank].append(Work(event, record, host[rank, event["args"]["correlation"]], launch[1]))
    return kept


def spans(work, *kinds):
    return [each.span for each in work if not kinds or each.kind in kinds]


def differs(what, seen, true, tolerance=0.01):
    """Microseconds by HTA, nanoseconds by the truth."""
    if abs(seen - true / 1000) > tolerance:
        yield f"{what}: {seen} us by HTA, {true / 1000} us by the truth"


def temporal_problems(analysis, work):
    for row in analysis.get_temporal_breakdown(visualize=False).to_dict("records"):
        mine = work[row["rank"]]
        busy, compute = length(spans(mine)), length(spans(mine, "COMPUTATION"))
        what = f"rank {row['rank']}: temporal breakdown: "
        yield from differs(what + "all", row["kernel_time(us)"], extent(spans(mine)))
        yield from differs(what + "idle", row["idle_time(us)"], extent(spans(mine)) - busy)
        yield from differs(what + "compute", row["compute_time(us)"], compute)
        yield from differs(what + "other", row["non_compute_time(us)"], busy - compute)


def kernel_problems(analysis, work):
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1000)
    true = collections.Counter()
    for rank, mine in work.items():
        for each in mine:
            true[rank, each.name] += each.span[1] - each.span[0]
    seen = {(row["rank"], row["name"]): row["sum (us)"] for row in kernels.to_dict("records")
            if row["name"] != "others"}
    if not seen or any(key not in true for key in seen):
        yield f"kernels by HTA {sorted(seen)}, by the truth {sorted(true)}"
    for key in seen.keys() & true.keys():
        yield from differs(f"kernel breakdown: {key}", seen[key], true[key])


def overlap_problems(analysis, work):
    for row in analysis.get_comm_comp_overlap(visualize=False).to_dict("records"):
        mine = work[row["rank"]]
        computing, communicating = spans(mine, "COMPUTATION"), spans(mine, "COMMUNICATION")
        percent = 100 * shared(computing, communicating) / length(communicating)
        if abs(row["comp_comm_overlap_pctg"] - percent) > 0.01:
            yield f"rank {row['rank']}: overlap {row['comp_comm_overlap_pctg']} % by HTA, {percent} % by the truth"


def idle_problems(analysis, work):
    table, _ = analysis.get_idle_time_breakdown(ranks=sorted(work), visualize=False)
    sums = collections.Counter()
    for row in table.to_dict("records"):
        sums[int(row["rank"]), int(row["stream"])] += row["idle_time"]
    for rank, mine in work.items():
        for stream in {each.stream for each in mine}:
            busy = [each.span for each in mine if each.stream == stream]
            yield from differs(f"rank {rank}: idle on stream {stream}", sums[rank, stream],
                               extent(busy) - sum(end - begin for begin, end in busy), 0.1)


def queue_problems(analysis, work):
    summary = analysis.get_queue_length_summary(ranks=sorted(work))
    for rank, mine in work.items():
        queued = [each for each in mine if each.origin["name"] in QUEUED]
        for stream in {each.stream for each in queued}:
            # The host's call adds one, the begin of the work takes one away.
            changes = sorted([(each.call["begin_ns"], 1) for each in queued if each.stream == stream] +
                             [(each.span[0], -1) for each in queued if each.stream == stream])
            lengths, now = [], 0
            for _, change in changes:
                now += change
                lengths.append(now)
            row = summary.loc[(rank, stream)]["queue_length"]
            if (row["count"], row["max"]) != (len(lengths), max(lengths)):
                yield f"rank {rank}, stream {stream}: queue {dict(row)} by HTA, {len(lengths)} changes, at " \
                      f"most {max(lengths)} by the truth"


def launch_problems(analysis, work):
    for rank, table in analysis.get_cuda_kernel_launch_stats(ranks=sorted(work), visualize=False).items():
        timed = {each.correlation: each for each in work[rank] if each.origin["name"] in TIMED}
        rows = {int(row["correlation"]): row for row in table.to_dict("records")}
        if not rows or rows.keys() != timed.keys():
            yield f"rank {rank}: {len(rows)} launches by HTA, {len(timed)} by the truth"
        errors = []
        for correlation in rows.keys() & timed.keys():
            row, each = rows[correlation], timed[correlation]
            yield from differs(f"rank {rank}: launch {correlation}", row["gpu_duration"],
                               each.span[1] - each.span[0])
            delay = max(each.span[0] - each.call["end_ns"], 0)
            errors.append(abs(row["launch_delay"] - delay / 1000))
        # A thread may lose its core between the agent's clock and the simulator's; most do not.
        if errors and sorted(errors)[len(errors) // 2] > 1:
            yield f"rank {rank}: delays of launches are {sorted(errors)[len(errors) // 2]} us off"


def problems_with(folder, work):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else it moves times to whole µs
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=str(folder))
    for find in (temporal_problems, kernel_problems, overlap_problems, idle_problems, queue_problems,
                 launch_problems):
        found = list(find(analysis, work))
        print(f"{find.__name__.removesuffix('_problems')}: {len(found)} problems")
        yield from found


def main():
    need(VENV / "bin/python", "the Python environment")
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(VENV / "bin/python", [str(VENV / "bin/python"), *sys.argv])
    need(next(VENV.glob("lib/python3*/site-packages/hta"), "/none"), "HolisticTraceAnalysis")
    work = work_by_rank()
    print({rank: len(mine) for rank, mine in work.items()}, "pieces of work in the steps that HTA looks at")
    with tempfile.TemporaryDirectory() as folder:
        for path in (FOLDER / "run/traces").glob("*rank*.json"):
            shutil.copy(path, folder)
        problems = list(problems_with(pathlib.Path(folder), work))
    print(*problems[:20], sep="\n")
    return 1 if problems or len(work) != 4 else 0


sys.exit(main())
