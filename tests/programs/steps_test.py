#!/usr/bin/env python3
"""Detected steps against the optimizer steps that really ran, for each kind of job.

usage: steps_test.py BUILD_FOLDER     (0: good, 1: not, 77: mpirun is missing)
"""
import sys

from traced_job import TracedJob, skip_without

SKIP, ACTIVE = 120, 3
JOBS = [
    (1, ["step_single_gpu"]),
    (2, ["step_data_parallel"]),
    (2, ["step_grad_accumulation", "--no-sync"]),
    (2, ["step_grad_accumulation", "--sync-each"]),
    (4, ["step_tensor_pipeline"]),
    (2, ["step_eval_every_50"]),
]


def marks_by_rank(truth):
    marks = {}
    for record in truth:
        if record["kind"] == "mark" and record["name"] == "step":
            marks.setdefault(record["rank"], []).append(record["begin_ns"])
    return marks


def problems_of(job, ranks):
    marks = marks_by_rank(job.truth)
    steps = job.steps()
    if sorted(steps) != list(range(ranks)):
        yield f"steps of ranks {sorted(steps)}"
    for rank, of_rank in steps.items():
        numbers = [number for number, _, _ in of_rank]
        if numbers != [SKIP + 1 + i for i in range(ACTIVE)]:
            yield f"rank {rank}: steps {numbers}"
        for number, begin, end in of_rank:
            inside = sum(begin <= mark < end for mark in marks[rank])
            done = sum(mark < end for mark in marks[rank])
            # Numbers count from 0: with step k, k + 1 optimizer steps have been done.
            if inside != 1 or done != number + 1:
                yield f"rank {rank}: step {number} holds {inside}, {done} were done by its end"


def detection_of(job):
    metadata = job.trace["traceagent"]
    return metadata.get("merged", [metadata])[0].get("step_detection")


def main(build):
    skip_without("mpirun")
    failed = 0
    for ranks, command in JOBS:
        for ranges in ([], ["--no-nvtx"]):
            program = [f"{build}/programs/{command[0]}", *command[1:], *ranges, "--steps", "200"]
            schedule = f"skip_first={SKIP},wait=0,warmup=1,active={ACTIVE},repeat=1"
            job = TracedJob(build, ranks, program, TRACEAGENT_SCHEDULE=schedule)
            problems = [job.problem()] if job.problem() else list(problems_of(job, ranks))
            detection = detection_of(job) if job.trace else None
            print(f"{' '.join(command + ranges)}: {detection}: {'; '.join(problems) or 'good'}")
            failed += bool(problems)
    return 1 if failed else 0


sys.exit(main(sys.argv[1]))
