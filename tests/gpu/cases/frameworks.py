"""Frameworks that open CUDA's libraries themselves, and the demo's job."""

import shutil

from cases.cuda_programs import compare
from suite.case import Skip, case


@case("CuPy: its own cudart, kernels compiled at run time", limit_s=120, needs=("cupy",))
def cupy_program(bench):
    bench.need_gpu("CuPy")
    _, trace = compare(bench, bench.python("cupy_program.py"), bench.variables())
    if trace is not None:
        bench.row.figure("kernels", sum(trace.kernels().values()))


@case("JAX: a jitted training step", limit_s=150, needs=("jax",))
def jax_program(bench):
    bench.need_gpu("JAX")
    _, _, folder = bench.both(bench.python("jax_program.py"), bench.variables(),
                              TRACEAGENT_STEP_MARK="auto", TRACEAGENT_SCHEDULE="wait=10,warmup=4000,active=20,repeat=1")
    trace = bench.rank_file(folder)
    if trace is not None and bench.check_trace(trace):
        bench.row.figure("found by", trace.about[0]["step_detection"])
        bench.row.figure("kernels", sum(trace.kernels().values()))
        steps = trace.kernels_by_step()
        bench.row.check(len(steps) == 20 and all(step == steps[0] and step for step in steps),
                        f"{len(steps)} steps, not 20 that are equal: {[sum(step.values()) for step in steps]}")


@case("the demo's job, one rank", limit_s=90)
def train_demo(bench):
    demo = bench.agent.demo
    if not demo.exists():
        raise Skip("train_demo is not in the bundle")
    # No cudart in the loader's path: what a bundle is for is a machine that has one somewhere.
    # Steps of a tenth of a millisecond: CUPTI takes tens of them to start, and the wait is what it is told before.
    _, traced, folder = bench.both([demo, "--steps", 8000, "--hidden", 64], bench.cuda_variables(),
                                   TRACEAGENT_SCHEDULE="wait=4000,warmup=3000,active=4,repeat=1")
    trace = bench.rank_file(folder)
    if trace is None or not bench.check_trace(trace):
        return
    steps = trace.kernels_by_step()
    bench.row.figure("kernels a step", [sum(step.values()) for step in steps])
    bench.row.check(len(steps) == 4 and all(step == steps[0] and step for step in steps), "steps differ")
    shutil.copy(trace.path, bench.folder / "train_demo.json")
