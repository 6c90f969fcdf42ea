"""Programs in CUDA C++: each states how much work it gave the GPU, and all of it must be found."""

from suite.case import case


def compare(bench, command, variables=None, **options):
    bare, traced, folder = bench.both(command, variables or bench.cuda_variables(), **options)
    trace = bench.rank_file(folder)
    if trace is not None and bench.check_trace(trace):
        bench.check_expected(trace, bare.out)
    return traced, trace


@case("four threads, streams of their own and the default stream", quick=True)
def streams(bench):
    compare(bench, [bench.compiler.program("streams_and_threads")])


@case("the same, built with --default-stream per-thread")
def per_thread_default_stream(bench):
    compare(bench, [bench.compiler.program("streams_and_threads", "per_thread")])


@case("the same, built with -cudart static: driver door, CUDA_INJECTION64_PATH")
def static_cudart(bench):
    bench.need_gpu("a static run-time library wants a real driver")
    compare(bench, [bench.compiler.program("streams_and_threads", "static")])


@case("cooperative and cluster launches")
def special_launches(bench):
    compare(bench, [bench.compiler.program("special_launches")])


@case("a graph with two branches at the same time, replayed")
def graph_branches(bench):
    compare(bench, [bench.compiler.program("graph_branches")])


@case("captures in global mode, in which CUPTI comes and goes and a window opens and closes")
def capture_in_window(bench):
    compare(bench, [bench.compiler.program("capture_in_window")],
            TRACEAGENT_SCHEDULE="skip_first=0,wait=2,warmup=1,active=2,repeat=1")


@case("cudaMallocAsync and copies of 256 MiB in all directions")
def pool_and_copies(bench):
    size = 4 << 20 if bench.simulated else 256 << 20
    compare(bench, [bench.compiler.program("pool_and_copies")], bench.cuda_variables(GPU_LARGE_BYTES=size))


@case("libcudart by ctypes")
def ctypes_calls(bench):
    library = next(path for path in sorted(bench.machine.library("libcudart.so.*").glob("libcudart.so.*"))[::-1])
    compare(bench, bench.python("ctypes_calls.py", library), TRACEAGENT_STEP_MARK="call:cudaDeviceSynchronize")
