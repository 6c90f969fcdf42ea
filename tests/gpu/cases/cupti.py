"""CUPTI without the agent: what its parts cost, and what it does not bear."""

import time

from suite.case import case

# Each in a process of its own, since what was on once leaves something behind.
STAGES = {"by the GPU": "bare hardware-trace kernels off-kernels bare",
          "as the agent": "bare subscribe kernels copies memory overhead streams contexts runtime without-runtime driver "
                          "without-driver waits off-waits off-kernels off-copies off-runtime off-driver unsubscribe bare",
          "kernels alone": "bare kernels off-kernels bare",
          "runtime's calls": "bare runtime without-runtime kernels off-kernels off-runtime bare",
          "driver's calls": "bare driver without-driver kernels off-kernels off-driver bare",
          "driver's callbacks": "bare subscribe driver-callbacks kernels off-kernels off-driver-callbacks unsubscribe bare",
          "both": "bare subscribe runtime without-runtime driver-callbacks kernels",
          "waits": "bare waits off-waits kernels bare",
          "calls chosen one by one": "bare chosen-runtime kernels",
          "let go of": "bare kernels off-kernels finalize"}


def cupti_of(bench):
    return sorted(bench.machine.library("libcupti.so.1*").glob("libcupti.so.1*"))[-1]


@case("what each part of CUPTI costs a launch, without the agent", limit_s=60, alone=True)
def cupti_costs(bench):
    bench.need_gpu("CUPTI's own cost")
    program = bench.compiler.program("cupti_costs")
    for name, stages in STAGES.items():
        done = bench.run([program, cupti_of(bench), *stages.split()], bench.cuda_variables())
        bench.row.check(done.code == 0, f"{name}: {done}")
        rows = [line.split() for line in done.out.splitlines()]
        starts = {row[0]: f", kernels start {row[10]} ns after" for row in rows if row[10] != "-1"}
        bench.row.figure(name, "; ".join(f"{stage} {ns} ({cheap_ns}) ns{starts.get(stage, '')}"
                                         for stage, ns, cheap_ns, *_ in rows))


@case("what each part of CUPTI costs a step of PyTorch, without the agent", limit_s=150, alone=True, needs=("torch",))
def cupti_costs_torch(bench):
    """One after the other: beside others the first stages would meet more of them than the last."""
    bench.need_gpu("CUPTI's own cost")
    library = bench.compiler.program("cupti_stages", "library")
    for name in ("as the agent", "kernels alone", "runtime's calls", "waits"):
        command = bench.python("torch_stages.py", library, "libcupti.so.13", 40, *STAGES[name].split(), "--",
                               "--model", "mlp")
        done = bench.run(command, bench.variables())
        bench.row.check(done.code == 0, f"{name}: {done}")
        rows = [line.split() for line in done.out.splitlines()]
        bench.row.figure(name, ", ".join(f"{stage} {us} us ({cheap_ns} ns)" for stage, us, cheap_ns in rows))


# What CuPy's NVRTC calls, and what never came back to it: after which of CUPTI's parts?
BEFORE_INIT = ("bare", "subscribe", "kernels", "subscribe kernels", "subscribe kernels off-kernels unsubscribe", "runtime",
               "subscribe driver", "subscribe others", "subscribe copies")


@case("cuInit once more after parts of CUPTI, without the agent: where it hangs", limit_s=90, alone=True)
def cupti_then_init(bench):
    bench.need_gpu("the driver's own faults")
    program = bench.compiler.program("cupti_costs")
    running = {stages: bench.start([program, cupti_of(bench), *stages.split(), "init"], bench.cuda_variables(),
                                   bench.new_folder("init")) for stages in BEFORE_INIT}
    end_s = time.monotonic() + 30
    for stages, process in running.items():
        done = bench.end_of(process, limit_s=max(1, end_s - time.monotonic()))
        bench.row.figure(f"after {stages}", "comes back" if done.code == 0 else str(done.code))


DETACH = ("", "no-graphs", "no-graphs quiet", "quiet", "late-graphs quiet")


@case("CUPTI let go of (cuptiFinalize) beside threads that launch: whether it bears that", limit_s=120, alone=True)
def cupti_detach(bench):
    bench.need_gpu("CUPTI's own faults")
    program = bench.compiler.program("cupti_detach")
    running = {words: bench.start([program, cupti_of(bench), 40, *words.split()], bench.cuda_variables(),
                                  bench.new_folder("detach")) for words in DETACH}
    end_s = time.monotonic() + 40
    for words, process in running.items():
        done = bench.end_of(process, limit_s=max(1, end_s - time.monotonic()))
        # The agent does not do it: what comes of it is told, and no fault of ours.
        said = (done.out + done.err).strip().replace("\n", "; ")[:160]
        bench.row.figure(words or "graphs, in a call", f"exit code {done.code}: {said}")
