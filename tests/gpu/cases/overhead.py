"""What the agent costs: the same steps bare, with the agent idle, with it active, with torch.profiler,
in processes that take turns, so that all meet the same machine."""

import re
import statistics

from suite.case import case
from suite.trace import rank_files
from suite.turns import added_percent, median_us, play, spread

IDLE_LIMIT_PERCENT, ACTIVE_LIMIT_PERCENT = 0.5, 3.0
IDLE = {"TRACEAGENT_SCHEDULE": "skip_first=1000000000,active=1"}
# Files are written while later steps run: their cost is in the figures.
ACTIVE = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=49,repeat=0", "TRACEAGENT_MERGE_MODE": "off"}


def modes_of(bench, command, variables, profiled=None):
    modes = {"bare": (command, lambda folder: variables),
             "idle": (command, lambda folder: bench.traced(variables, folder, **IDLE)),
             "active": (command, lambda folder: bench.traced(variables, folder, **ACTIVE))}
    if profiled:
        modes["torch.profiler"] = (profiled, lambda folder: variables)
    return modes


def report(bench, players, times):
    bare = times["bare"]
    bench.row.figure("steps", len(bare))
    bench.row.figure("bare", f"{median_us(bare):.1f} us ({spread(bare)})")
    added = {name: added_percent(found, bare) for name, found in times.items() if name != "bare"}
    for name, percent in added.items():
        bench.row.figure(name, f"{percent:+.2f} % ({spread(times[name])})")
    windows = len(rank_files(players["active"].folder / "traces"))
    bench.row.figure("windows written", windows)
    bench.row.check(windows >= len(bare) // 50 - 1, f"{windows} files: the agent was not active throughout")
    return added


def check_limits(bench, added, bare_ns):
    """Not on a simulated GPU, nor against a profiler that was not there."""
    if bench.simulated:
        return
    noise = 100 * (statistics.quantiles(bare_ns, n=4)[2] / statistics.median(bare_ns) - 1)
    bench.row.check(added["idle"] <= max(IDLE_LIMIT_PERCENT, noise), f"idle costs {added['idle']:.2f} %")
    bench.row.check(added["active"] <= ACTIVE_LIMIT_PERCENT, f"active costs {added['active']:.2f} %")
    if "torch.profiler" in added:
        bench.row.check(added["active"] <= added["torch.profiler"] / 2,
                        f"active costs {added['active']:.2f} %, torch.profiler {added['torch.profiler']:.2f} %")


def torch_overhead(bench, *words):
    turns, steps = (2, 10) if bench.simulated else (5, 50)
    command = bench.python("torch_train.py", "--turns", *words)
    profiled = [*command, "--profile", "none.json", "--schedule", "0,1,49"]
    modes = modes_of(bench, command, bench.variables(), profiled)
    if bench.simulated:
        modes = {"bare": modes["bare"], "torch.profiler": modes["torch.profiler"]}
    players = play(bench, modes, steps_in_turn=steps, turns=turns)
    times = {name: player.times for name, player in players.items()}
    if bench.simulated:
        bench.row.note("PyTorch on the CPU")
        bench.row.check(all(len(found) == steps * turns for found in times.values()), "a turn is missing")
        return
    check_limits(bench, report(bench, players, times), times["bare"])


@case("step time of a transformer: bare, idle, active, torch.profiler", limit_s=170, alone=True, needs=("torch",))
def overhead_transformer(bench):
    torch_overhead(bench, "--dtype", "bf16", "--batch", 16)


@case("step time of an MLP that is bound by its launches", limit_s=170, alone=True, needs=("torch",))
def overhead_mlp(bench):
    torch_overhead(bench, "--model", "mlp")


@case("1000 empty kernels a step in C++: bare, idle, active; what a hook costs", limit_s=120, alone=True)
def overhead_launches(bench):
    launches, turns, steps = (50, 2, 25) if bench.simulated else (1000, 5, 50)
    variables = bench.cuda_variables(GPU_LAUNCHES=launches)
    command = [bench.compiler.program("launches")]
    players = play(bench, modes_of(bench, command, variables), steps_in_turn=steps, turns=turns)
    added = report(bench, players, {name: [step for step, _ in player.times] for name, player in players.items()})
    per_launch = {name: statistics.median(loop for _, loop in player.times) / launches
                  for name, player in players.items()}
    bench.row.figure("a launch", ", ".join(f"{name} {ns:.0f} ns" for name, ns in per_launch.items()))
    bench.row.figure("launches a second, bare", f"{1e9 / per_launch['bare']:,.0f}")
    if not bench.simulated:
        bench.row.check(added["idle"] <= 2 * IDLE_LIMIT_PERCENT, f"idle costs {added['idle']:.2f} %")
    errors = (players["active"].folder / "stderr.txt").read_text()
    lost = re.findall(r"(\d+) lost", errors)
    bench.row.check(lost in ([], ["0"]), f"lost {lost}")


@case("where the active cost goes: doors alone, with the driver's, with CUPTI", limit_s=120, alone=True)
def overhead_by_door(bench):
    launches, turns, steps = (50, 2, 25) if bench.simulated else (1000, 4, 50)
    variables, command = bench.cuda_variables(GPU_LAUNCHES=launches), [bench.compiler.program("launches")]
    shut = {"TRACEAGENT_DOORS_DRIVER": "false", "TRACEAGENT_DOORS_CUPTI": "false"}
    choices = {"cudart door": shut, "cudart and driver": {**shut, "TRACEAGENT_DOORS_DRIVER": "true"},
               "CUPTI too": {}}
    modes = {"bare": (command, lambda folder: variables)}
    modes |= {name: (command, lambda folder, o=options: bench.traced(variables, folder, **ACTIVE, **o))
              for name, options in choices.items()}
    players = play(bench, modes, steps_in_turn=steps, turns=turns)
    for name, player in players.items():
        step, loop = (statistics.median(column) / launches for column in zip(*player.times))
        bench.row.figure(name, f"{loop:.0f} ns a launch, {step:.0f} ns with its kernel")
