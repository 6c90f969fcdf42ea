#!/usr/bin/env python3
"""torch_tb_profiler (PyPI) loads a job's rank files under its naming rule and knows their kernels.

usage: torch_tb_profiler_test.py BUILD DEPS      after device_truth_test.py … plain, whose files it reads
"""
import collections
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

from places import BUILD, VENV, need

FOLDER = BUILD / "tests/device_demo"
VIEWS = {"Overview", "Kernel", "Trace"}


def true_kernels():
    """{rank: {name: [calls, ns, ns × percent of occupancy]}}"""
    from device_truth import DeviceComparison, occupancy
    from trace_file import Trace
    from truth import Truth
    compared = DeviceComparison(Trace(FOLDER / "run/traces/node0.json"), Truth(FOLDER.glob("*.truth")))
    kernels = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0]))
    for event, record in compared.pairs:
        if event["cat"] == "kernel":
            entry = kernels[record["rank"]][event["name"]]
            ns = (record["kernel_end_ns"] or record["end_ns"]) - record["begin_ns"]
            entry[0] += 1
            entry[1] += ns
            entry[2] += ns * occupancy(record)
    return kernels


def profile_of(path, folder):
    from torch_tb_profiler.consts import WORKER_PATTERN
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator
    match = WORKER_PATTERN.match(path.name)
    data = RunProfileData.parse(match.group(1), match.group(2), str(path), folder)
    return RunGenerator(match.group(1), match.group(2), data).generate_run_profile()


def problems_with(rank, profile, true):
    views = {view.display_name for view in profile.views}
    # It has no eye for host calls of the category cuda_runtime, which Kineto's files have today.
    if not VIEWS <= views or not (profile.has_kernel and profile.has_memcpy_or_memset):
        yield f"rank {rank}: views {views}, kernels {profile.has_kernel}, copies {profile.has_memcpy_or_memset}"
    columns = [column["name"] for column in profile.kernel_table["data"]["columns"]]
    rows = [dict(zip(columns, row)) for row in profile.kernel_table["data"]["rows"]]
    print(f"rank {rank}: {len(rows)} kernels, {sum(row['Calls'] for row in rows)} calls, views {sorted(views)}")
    if {row["Name"] for row in rows} != true.keys():
        yield f"rank {rank}: kernels {[row['Name'] for row in rows]}, not {list(true)}"
        return
    for row in rows:
        calls, ns, occupied = true[row["Name"]]
        # It rounds each to whole microseconds.
        if row["Calls"] != calls or abs(row["Total Duration (us)"] - ns / 1000) > calls:
            yield f"rank {rank}: {row} was {calls} calls, {ns} ns"
        if abs(row["Mean Est. Achieved Occupancy (%)"] - occupied / ns) > 0.5:
            yield f"rank {rank}: {row} has an occupancy of {occupied / ns} %"


def main():
    need(VENV / "bin/python", "the Python environment")
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(VENV / "bin/python", [str(VENV / "bin/python"), *sys.argv])
    need(next(VENV.glob("lib/python3*/site-packages/torch_tb_profiler"), "/none"), "torch_tb_profiler")
    warnings.simplefilter("ignore")
    problems, true = [], true_kernels()
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(4):
            (path,) = (FOLDER / "run/traces").glob(f"*rank{rank}.json")
            named = pathlib.Path(folder) / f"host_{1000 + rank}.1700000000000.pt.trace.json"
            shutil.copy(path, named)
            problems += problems_with(rank, profile_of(named, folder), true[rank])
    print(*problems[:20], sep="\n")
    return 1 if problems else 0


sys.exit(main())
