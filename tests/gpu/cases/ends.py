"""Every way in which a program ends, in mid-window; what was recorded before must be there."""

from suite.case import case
from suite.trace import Trace, rank_files

LAUNCHES_OF_A_STEP = 20
ACTIVE = {"TRACEAGENT_SCHEDULE": "skip_first=0,wait=0,warmup=1,active=5,repeat=1"}


def ended(bench, how):
    """Bare and traced; the traced run's folder and rings' folder."""
    program = [bench.compiler.program("ends"), how]
    bare = bench.run(program, bench.cuda_variables())
    folder = bench.new_folder("traced")
    rings = folder / "rings"
    rings.mkdir()
    variables = bench.traced(bench.cuda_variables(), folder, TRACEAGENT_RING_FOLDER=rings,
                             TRACEAGENT_RING_SIZE="64MiB", **ACTIVE)
    traced = bench.run(program, variables, folder)
    bench.same(bare, traced)
    bench.row.check(bare.out.splitlines() == ["step 0", "step 1", "step 2"], f"bare: {bare}")
    return bare, folder, rings


def check_launches(bench, trace):
    """Steps 1 and 2 were recorded; both synchronized, so that all their work had been done."""
    launches = sum(event["name"] == "cudaLaunchKernel" for event in trace.of("cuda_runtime"))
    bench.row.check(launches == 2 * LAUNCHES_OF_A_STEP, f"{launches} launches of {2 * LAUNCHES_OF_A_STEP}")
    bench.row.check(not trace.dropped(), f"dropped {trace.dropped()}")
    kernels = trace.kernels().get("add_one", 0)
    bench.row.figure("launches", launches)
    bench.row.figure("kernels", kernels)
    bench.row.check(kernels == 2 * LAUNCHES_OF_A_STEP, f"{kernels} kernels of {2 * LAUNCHES_OF_A_STEP}")


def in_good_order(bench, how):
    _, folder, rings = ended(bench, how)
    trace = bench.rank_file(folder)
    if trace is not None:
        check_launches(bench, trace)
    left = [path.name for path in rings.rglob("*") if path.is_file()]
    bench.row.check(not left, f"left in the rings' folder: {left}")


def recovered(bench, how):
    _, folder, rings = ended(bench, how)
    bench.row.check(any(rings.iterdir()), "no ring is left to recover")
    done = bench.run([bench.agent.tool, "recover", rings], bench.variables(), folder)
    bench.row.check(done.code == 0, f"traceagent recover: {done}")
    files = rank_files(folder / "traces")
    if bench.row.check(len(files) == 1, f"recovered {[path.name for path in files]}, not one file"):
        check_launches(bench, Trace(files[0]))


@case("exit() in mid-window")
def ends_by_exit(bench):
    in_good_order(bench, "return")


@case("an exception that nobody catches: abort; then recover")
def ends_by_exception(bench):
    recovered(bench, "exception")


@case("_exit in mid-window")
def ends_by_underscore_exit(bench):
    in_good_order(bench, "_exit")


@case("SIGTERM in mid-window, then recover")
def ends_by_sigterm(bench):
    recovered(bench, "SIGTERM")


@case("SIGKILL in mid-window, then recover", quick=True)
def ends_by_sigkill(bench):
    recovered(bench, "SIGKILL")
