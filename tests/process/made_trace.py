"""A small node file made by hand in the agent's own layout, for the tests of the viewers."""

import json

STEP_US = 100.0


def metadata_lines(rank, threads):
    yield {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}}
    for tid, name in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": tid, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": rank, "tid": tid,
               "args": {"sort_index": tid}}


def slice_of(ts, dur, category, name, rank, tid, args):
    return {"ts": ts, "dur": dur, "ph": "X", "cat": category, "name": name, "pid": rank, "tid": tid,
            "args": args}


def step_slices(rank, step):
    start, correlation = step * STEP_US, rank * 1000 + step * 10
    collective = {"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
                  "Group size": 4, "dtype": "Float", "Seq": step}
    yield slice_of(start, 90.0, "user_annotation", f"ProfilerStep#{step}", rank, 0, {})
    yield slice_of(start + 5, 10.0, "cuda_runtime", "cudaLaunchKernel", rank, 1000 + rank,
                   {"correlation": correlation + 1})
    yield slice_of(start + 20, 50.0, "user_annotation", "ncclAllReduce", rank, 1000 + rank, collective)
    yield slice_of(start + 25, 20.0, "cuda_runtime", "cudaLaunchKernelExC", rank, 1000 + rank,
                   {"correlation": correlation + 2})
    yield slice_of(start + 30, 10.0, "cuda_runtime", "cudaMemcpyAsync", rank, 2000 + rank,
                   {"correlation": correlation + 3})
    # Two calls in one microsecond, and the arrow of the second.
    flow = {"id": correlation + 4, "cat": "ac2g", "name": "ac2g", "pid": rank}
    yield slice_of(start + 81.314, 0.331, "cuda_runtime", "cudaEventRecord", rank, 1000 + rank, {})
    yield slice_of(start + 81.735, 0.141, "cuda_runtime", "cudaEventQuery", rank, 1000 + rank, {})
    yield flow | {"ts": start + 81.735, "ph": "s", "tid": 1000 + rank}
    yield slice_of(start + 82, 5.0, "cuda_runtime", "cudaEventSynchronize", rank, 2000 + rank, {})
    yield flow | {"ts": start + 82, "ph": "f", "bp": "e", "tid": 2000 + rank}
    yield {"ts": start + 60, "ph": "i", "s": "t", "cat": "user_annotation", "name": "mark",
           "pid": rank, "tid": 1000 + rank, "args": {}}


def write(path, ranks, steps=4):
    metadata, events = [], []
    for rank in ranks:
        threads = {0: "steps", 1000 + rank: "main", 2000 + rank: "loader"}
        metadata.extend(metadata_lines(rank, threads))
        for step in range(steps):
            events.extend(step_slices(rank, step))
    events.sort(key=lambda event: event["ts"])
    rows = [json.dumps(row, separators=(",", ":")) for row in metadata + events]
    head = {"schemaVersion": 1, "distributedInfo": {"rank": min(ranks), "world_size": 4},
            "displayTimeUnit": "ns", "baseTimeNanoseconds": 1700000000000000000,
            "traceName": path.name, "deviceProperties": []}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    path.write_text("\n".join(["{", *lines, '"traceEvents": [', ",\n".join(rows), "],",
                               '"traceagent": {},', '"complete": true', "}", ""]))
