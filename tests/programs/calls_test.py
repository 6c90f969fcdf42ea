#!/usr/bin/env python3
"""Every kind of call, good and bad: the program sees no difference, and the trace says what the
simulated GPU was asked and what it answered.

usage: calls_test.py BUILD_FOLDER     (0: good, 1: not, 77: mpirun is missing)
"""
import collections
import subprocess
import sys

from traced_job import TracedJob, environment, skip_without

# Questions about devices, versions and errors may go untraced; these may not.
WANTED = """
cudaSetDevice cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority
cudaStreamDestroy cudaStreamSynchronize cudaStreamWaitEvent cudaEventCreate
cudaEventCreateWithFlags cudaEventRecord cudaEventSynchronize cudaEventDestroy cudaMalloc
cudaMallocManaged cudaMallocPitch cudaMalloc3D cudaMallocHost cudaHostAlloc cudaHostRegister cudaHostUnregister
cudaFree cudaFreeHost cudaMallocAsync cudaMallocFromPoolAsync cudaFreeAsync cudaMemcpy
cudaMemcpyAsync cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemset
cudaMemsetAsync cudaMemset2D cudaMemset2DAsync cudaLaunchKernel cudaLaunchKernelExC
cudaLaunchCooperativeKernel cudaLaunchHostFunc cudaStreamBeginCapture cudaStreamEndCapture
cudaGraphInstantiate cudaGraphLaunch cudaDeviceSynchronize cudaDeviceReset
ncclAllReduce ncclReduce ncclBroadcast ncclBcast ncclAllGather ncclReduceScatter ncclAlltoAll
ncclGather ncclScatter ncclSend ncclRecv ncclGroupStart ncclGroupEnd ncclGetUniqueId
ncclCommInitRank ncclCommInitAll ncclCommSplit ncclCommFinalize ncclCommDestroy ncclCommAbort
ncclCommRegister ncclCommDeregister ncclCommWindowRegister ncclCommWindowDeregister ncclMemAlloc
ncclMemFree ncclRedOpCreatePreMulSum ncclRedOpDestroy
cudaMallocArray cudaMalloc3DArray cudaFreeArray cudaMemcpy3D cudaMemcpy3DAsync
cudaMemcpy3DPeerAsync cudaMemcpy3DBatchAsync
""".split()
# How often a call's bytes are told: what an array takes part in is counted in its elements, whose
# size the call does not say.
BYTES_TOLD = {"cudaMemcpy3D": (1, 2), "cudaMemcpy3DAsync": (1, 2), "cudaMemcpy3DPeerAsync": (0, 1),
              "cudaMemcpy3DBatchAsync": (1, 2), "cudaMalloc3DArray": (2, 2), "cudaMallocArray": (1, 1)}


def bare_run(build, program):
    variables = environment(build, "/nonexistent", {})
    del variables["SIMGPU_TRUTH"]
    return subprocess.run(["mpirun", "--oversubscribe", "-n", "1", program], env=variables,
                          capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=60)


def by_name(calls, name):
    sorted_calls = collections.defaultdict(list)
    for call in sorted(calls, key=lambda call: call["begin_ns"]):
        sorted_calls[call[name]].append(call)
    return sorted_calls


def expected_args(true):
    args = {"result": true["result"]}
    if true["bytes"]:
        args["bytes"] = true["bytes"]
    if true.get("grid"):
        args |= {"grid": true["grid"], "block": true["block"],
                 "shared memory": true["shared_bytes"]}
    if true.get("comm_size") and true.get("dtype") and true["count"]:
        args |= {"In msg nelems": true["count"], "Group size": true["comm_size"]}
    return args


def argument_problems(name, traced, true):
    given = traced["args"]
    for key, value in expected_args(true).items():
        if key in given and given[key] != value:
            yield f"{name}: {key} is {given[key]} in the trace, {value} in truth"
    if name.startswith("cudaMalloc") and given.get("pointer") == "0x0" and given["result"] == 0:
        yield f"{name}: gave no memory, and no error"
    if "result" not in given:
        yield f"{name}: no result in {given}"


def problems_of(job):
    truth = by_name((r for r in job.truth if r["kind"] == "call"), "function")
    trace = by_name((e for e in job.events() if e["cat"] in ("cuda_runtime", "nccl")), "name")
    missing = [name for name in WANTED if name not in trace]
    if missing:
        yield f"not traced: {' '.join(missing)}"
    checked = 0
    for name, traced in trace.items():
        if len(traced) != len(truth[name]):
            yield f"{name}: {len(traced)} times in the trace, {len(truth[name])} in truth"
            continue
        for pair in zip(traced, truth[name]):
            checked += 1
            yield from argument_problems(name, *pair)
    for name, wanted in BYTES_TOLD.items():
        told = (sum("bytes" in call["args"] for call in trace[name]), len(trace[name]))
        if told != wanted:
            yield f"{name}: bytes told of {told}, wanted of {wanted}"
    print(f"{checked} calls of {len(trace)} functions compared")


def same_as_bare(build, name, job):
    bare = bare_run(build, f"{build}/programs/{name}")
    if (bare.stdout, bare.returncode) != (job.done.stdout, job.done.returncode):
        yield f"{name} without the agent: {bare}, with it: {job.done}"


def main(build):
    skip_without("mpirun")
    problems = []
    for name in ("all_calls", "two_majors"):
        job = TracedJob(build, 1, [f"{build}/programs/{name}"])
        problems += [job.problem()] if job.problem() else same_as_bare(build, name, job)
        if name == "all_calls" and job.trace:
            problems += problems_of(job)
        if name == "two_majors" and job.trace:
            majors = collections.Counter(r["cudart_major"] for r in job.truth if r["kind"] == "call" and "cudart_major" in r)
            traced = sum(e["cat"] == "cuda_runtime" for e in job.events())
            print(f"two majors: calls {dict(majors)}, {traced} traced")
            problems += ["a major's calls are missing"] if len(majors) != 2 or traced < 5 else []
    print(*problems[:20], sep="\n")
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
