"""PyTorch: what we record against what torch.profiler records of the same steps in a run of its own."""

from suite.case import case
from suite.kernel_counts import compare_steps
from suite.trace import Trace, rank_files

# Steps 0 to 2 wait, 3 is warm-up, 4 to 7 are recorded; 8 and 9 come after.
STEPS, WAIT, WARMUP, ACTIVE = 10, 3, 1, 4
BUSY_LIMIT_PERCENT = 2.0


def schedule(wait=WAIT):
    """Where fewer steps wait, more are warm-up: the same are recorded."""
    return f"skip_first=0,wait={wait},warmup={WAIT + WARMUP - wait},active={ACTIVE},repeat=1"


def train(bench, *words):
    size = ["--batch", 1] if bench.simulated else []
    return bench.python("torch_train.py", "--steps", STEPS, "--settle-in-steps", WAIT, *size, *words)


def compare(bench, *words, wait=WAIT):
    """Bare and traced give the same losses; per step the same kernels as torch.profiler's."""
    bare, traced, folder = bench.both(train(bench, *words), bench.variables(), TRACEAGENT_SCHEDULE=schedule(wait))
    losses = bare.out.count("loss")
    bench.row.check(losses == STEPS, f"{losses} losses of {STEPS}")
    profile = bench.new_folder("profiler") / "profile.json"
    profiled = bench.run(train(bench, *words, "--profile", profile, "--schedule", f"{WAIT},{WARMUP},{ACTIVE}"),
                         bench.variables())
    bench.row.check(profiled.code == 0 and profiled.out == bare.out, f"with torch.profiler: {profiled}")
    if bench.simulated:  # PyTorch on the CPU: nothing to trace, and nothing may be left
        bench.row.check(not (folder / "traces").exists() and not traced.agent_lines(), f"left behind: {traced}")
        bench.row.note("PyTorch on the CPU")
        return None
    trace = bench.rank_file(folder)
    if trace is not None and bench.check_trace(trace):
        compare_kernels(bench, trace, Trace(profile))
    return trace


def compare_kernels(bench, ours, theirs):
    row, mine, other = bench.row, ours.kernels_by_step(), theirs.kernels_by_step()
    row.check(len(mine) == ACTIVE, f"{len(mine)} steps in our file, not {ACTIVE}")
    row.figure("kernels", f"{sum(sum(step.values()) for step in mine)} ours, "
                          f"{sum(sum(step.values()) for step in other)} torch.profiler's")
    row.check(len(other) == ACTIVE, f"{len(other)} steps in torch.profiler's file, not {ACTIVE}")
    lost = compare_steps(row, mine, other, lambda: bench.machine.torch_cupti_version)
    row.check(sum(ours.kernels().values()) > 0, "no kernel")
    busy, their_busy = ours.busy_us(), theirs.busy_us()
    if their_busy > 0:
        percent = 100 * (busy / their_busy - 1)
        row.figure("device busy", f"{busy / 1000:.2f} ms against {their_busy / 1000:.2f} ms ({percent:+.2f} %)")
        row.check(lost or abs(percent) <= BUSY_LIMIT_PERCENT, f"device-busy time differs by {percent:.2f} %")


@case("transformer, bf16, cuBLAS: kernels per step equal torch.profiler's", limit_s=150, quick=True, needs=("torch",))
def torch_transformer_bf16(bench):
    compare(bench, "--dtype", "bf16")


@case("the same with a Triton kernel", limit_s=150, needs=("torch", "triton"))
def torch_triton(bench):
    bench.need_gpu("Triton")
    compare(bench, "--dtype", "bf16", "--triton")


# By itself, as checkpointing: beside eight others on the GPU its kernels took 3 % longer in one run than in the other.
@case("transformer, fp32", limit_s=150, alone=True, needs=("torch",))
def torch_transformer_fp32(bench):
    compare(bench)


@case("MLP of many small layers", limit_s=150, needs=("torch",))
def torch_mlp(bench):
    compare(bench, "--model", "mlp")


@case("autocast", limit_s=150, needs=("torch",))
def torch_autocast(bench):
    compare(bench, "--dtype", "autocast")


@case("torch.compile: kernels by Triton, launched by its own launcher", limit_s=240, needs=("torch", "triton"))
def torch_compile(bench):
    bench.need_gpu("torch.compile")
    compare(bench, "--compile")


# Before CUDA 13.1 Update 1 CUPTI gives graph launches wrong correlations from its second session on (its
# release notes): where the first of these two cases fails and the second does not, look there first.
@case("CUDA graphs captured and replayed, CUPTI switched off and on between", limit_s=150, needs=("torch",))
def torch_graphs(bench):
    bench.need_gpu("CUDA graphs")
    compare(bench, "--graphs", "--settle-in-steps", f"{WAIT - 2},{WAIT}")


@case("the same in CUPTI's first session", limit_s=150, needs=("torch",))
def torch_graphs_one_session(bench):
    bench.need_gpu("CUDA graphs")
    compare(bench, "--graphs", wait=0)


@case("a data loader with two worker processes", limit_s=150, needs=("torch",))
def torch_workers(bench):
    compare(bench, "--workers", 2)


@case("activation checkpointing", limit_s=150, alone=True, needs=("torch",))
def torch_checkpointing(bench):
    compare(bench, "--checkpointing")


@case("gradient accumulation over three batches", limit_s=150, needs=("torch",))
def torch_accumulation(bench):
    compare(bench, "--accumulate", 3)


@case("steps found without a mark", limit_s=150, needs=("torch",))
def torch_automatic_steps(bench):
    bench.need_gpu("step detection in PyTorch")
    _, _, folder = bench.both(train(bench, "--steps", 60), bench.variables(),
                              TRACEAGENT_STEP_MARK="auto", TRACEAGENT_DOORS_NVTX="false",
                              TRACEAGENT_SCHEDULE="wait=0,warmup=1,active=4,repeat=1")
    trace = bench.rank_file(folder)
    if trace is not None:
        steps = trace.kernels_by_step()
        bench.row.figure("found by", trace.about[0]["step_detection"])
        bench.row.check(len(steps) == 4, f"{len(steps)} steps, not 4")
        bench.row.check(len(set(map(str, map(sorted, map(dict.items, steps))))) == 1, "steps differ in their kernels")


@case("torch.profiler inside the traced job: it gets all its events, we yield", limit_s=150, needs=("torch",))
def torch_profiler_inside(bench):
    words = ["--profile", "profile.json", "--schedule", f"{WAIT},{WARMUP},{ACTIVE}"]
    alone, traced, folder = bench.both(train(bench, *words), bench.variables(), TRACEAGENT_SCHEDULE=schedule())
    alone_file = next(bench.folder.glob("*-bare/profile.json"))
    mine, other = (Trace(path).kernels() for path in (alone_file, folder / "profile.json"))
    bench.row.check(mine == other, f"torch.profiler lost {dict(mine - other)}")
    bench.row.figure("torch.profiler's kernels", f"{sum(other.values())} traced, {sum(mine.values())} bare")
    if bench.simulated:
        return
    trace = bench.rank_file(folder)
    if trace is not None:
        said = [line for line in traced.agent_lines() if "CUPTI" in line]
        source = trace.device_source()
        bench.row.figure("our device times", source)
        bench.row.check(source == "cupti" or len(said) == 1, f"not one line that says why: {traced.err[-500:]}")


def ends(bench, how):
    bare, traced, folder = _ended(bench, how)
    if bench.simulated:
        return
    files = rank_files(folder / "traces")
    if not files:
        done = bench.run([bench.agent.tool, "recover", folder / "rings"], bench.variables(), folder)
        bench.row.check(done.code == 0, f"traceagent recover: {done}")
        files = rank_files(folder / "traces")
        bench.row.note("recovered")
    if bench.row.check(len(files) == 1, f"{[path.name for path in files]}, not one file"):
        trace = Trace(files[0])
        bench.row.figure("kernels", sum(trace.kernels().values()))
        bench.row.check(sum(trace.kernels().values()) > 0, "no kernel")
        bench.row.check(not trace.dropped(), f"dropped {trace.dropped()}")


def _ended(bench, how):
    command = train(bench, "--end", how)
    bare = bench.run(command, bench.variables())
    folder = bench.new_folder("traced")
    (folder / "rings").mkdir()
    variables = bench.traced(bench.variables(), folder, TRACEAGENT_RING_FOLDER=folder / "rings",
                             TRACEAGENT_SCHEDULE=f"wait={WAIT},warmup={WARMUP},active=100,repeat=1")
    traced = bench.run(command, variables, folder)
    bench.same(bare, traced)
    bench.row.check(bare.out.count("loss") == STEPS - (how != "return"), f"bare: {bare}")
    return bare, traced, folder


for _how in ("exception", "os._exit", "SIGTERM", "SIGKILL"):
    case(f"a training that ends by {_how} in mid-window", limit_s=100, needs=("torch",),
         name=f"torch_ends_by_{_how.replace('.', '').lower()}")(lambda bench, how=_how: ends(bench, how))
