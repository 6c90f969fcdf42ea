"""What the agent costs: the same steps bare, with the agent idle, with it active, with torch.profiler,
in processes that take turns, so that all meet the same machine."""

import re
import statistics

from suite.case import case
from suite.trace import rank_files
from suite.turns import added_percent, median_us, play, spread

IDLE_LIMIT_PERCENT, ACTIVE_LIMIT_PERCENT = 0.2, 1.0
# Of what torch.profiler adds.
PROFILER_SHARE = 5
STEPS_IN_TURN = 10
IDLE = {"TRACEAGENT_SCHEDULE": "skip_first=1000000000,active=1"}
# Files are written while later steps run: their cost is in the figures.
ACTIVE = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=49,repeat=0", "TRACEAGENT_MERGE_MODE": "off"}
# What CUPTI leaves behind in a process in which it was on.
OVER = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=1,active=4,repeat=1", "TRACEAGENT_MERGE_MODE": "off"}


# What tells two bare processes apart (where their memory lies, which second they ran in) is no cost of ours.
CONTROL = "bare again"


def modes_of(bench, command, variables, profiled=None):
    modes = {"bare": (command, lambda folder: variables),
             CONTROL: (command, lambda folder: variables),
             "idle": (command, lambda folder: bench.traced(variables, folder, **IDLE)),
             "active": (command, lambda folder: bench.traced(variables, folder, **ACTIVE)),
             "over": (command, lambda folder: bench.traced(variables, folder, **OVER))}
    if profiled:
        modes["torch.profiler"] = (profiled, lambda folder: variables)
    return modes


def report(bench, players, times):
    bare = times["bare"]
    bench.row.figure("steps", len(bare))
    bench.row.figure("bare", f"{median_us(bare):.1f} us ({spread(bare)})")
    added = {name: added_percent(found, bare, STEPS_IN_TURN) for name, found in times.items() if name != "bare"}
    for name, (percent, lower, upper) in added.items():
        bench.row.figure(name, f"{percent:+.2f} % (quartiles {lower:+.2f} and {upper:+.2f})")
    windows = len(rank_files(players["active"].folder / "traces"))
    bench.row.figure("windows written", windows)
    bench.row.check(windows >= len(bare) // 50 - 1, f"{windows} files: the agent was not active throughout")
    return added


def check_limits(bench, added, active_limit_percent=None):
    """Small shares by the lower quartile, and above what the second bare process seems to cost: what a noisy machine
    adds by chance is no fault. Where the quartiles lie on both sides of the limit, that decides nothing, and the row
    says so."""
    for name, limit in (("idle", IDLE_LIMIT_PERCENT), ("active", active_limit_percent)):
        percent, least, most = added[name]
        if limit is None:
            continue
        limit += max(added[CONTROL][0], 0)
        bench.row.check(least <= limit, f"{name} costs {percent:.2f} %")
        if least <= limit < most:
            bench.row.note(f"{name}: whether it is at most {limit:.1f} % is not decided")
    if "torch.profiler" in added:
        active, theirs = added["active"][0], added["torch.profiler"][0]
        bench.row.check(active <= theirs / PROFILER_SHARE, f"active costs {active:.2f} %, torch.profiler {theirs:.2f} %")


def torch_overhead(bench, *words, active_limit_percent=None):
    turns = 2 if bench.simulated else 25
    command = bench.python("torch_train.py", "--turns", *words)
    profiled = [*command, "--profile", "none.json", "--schedule", "0,1,49"]
    modes = modes_of(bench, command, bench.variables(), profiled)
    if bench.simulated:
        modes = {"bare": modes["bare"], "torch.profiler": modes["torch.profiler"]}
    players = play(bench, modes, steps_in_turn=STEPS_IN_TURN, turns=turns)
    times = {name: player.times for name, player in players.items()}
    if bench.simulated:
        bench.row.note("PyTorch on the CPU")
        bench.row.check(all(len(found) == STEPS_IN_TURN * turns for found in times.values()), "a turn is missing")
        return
    check_limits(bench, report(bench, players, times), active_limit_percent)


@case("step time of a transformer of GPT-2's size (12 layers of 768), batches that keep the GPU busy", limit_s=220,
      alone=True, needs=("torch",))
def overhead_transformer(bench):
    gpt2 = ("--layers", 12, "--width", 768, "--length", 512, "--batch", 64)
    size = ("--layers", 2) if bench.simulated else gpt2
    torch_overhead(bench, "--dtype", "bf16", *size, active_limit_percent=ACTIVE_LIMIT_PERCENT)


@case("step time of a small transformer (4 layers of 256): bound by Python", limit_s=170, alone=True, needs=("torch",))
def overhead_small_transformer(bench):
    torch_overhead(bench, "--dtype", "bf16", "--batch", 16)


@case("step time of an MLP that is bound by its launches", limit_s=170, alone=True, needs=("torch",))
def overhead_mlp(bench):
    torch_overhead(bench, "--model", "mlp")


@case("a transformer of that size with small batches: the GPU waits for the host", limit_s=170, alone=True, needs=("torch",))
def overhead_small_batches(bench):
    size = ("--layers", 2) if bench.simulated else ("--layers", 12, "--width", 768, "--length", 512)
    torch_overhead(bench, "--dtype", "bf16", *size)


@case("1000 empty kernels a step in C++: bare, idle, active; what a hook costs", limit_s=120, alone=True)
def overhead_launches(bench):
    launches, turns = (50, 5) if bench.simulated else (1000, 25)
    variables = bench.cuda_variables(GPU_LAUNCHES=launches)
    command = [bench.compiler.program("launches")]
    players = play(bench, modes_of(bench, command, variables), steps_in_turn=STEPS_IN_TURN, turns=turns, cpus=2)
    added = report(bench, players, {name: [step for step, _ in player.times] for name, player in players.items()})
    per_launch = {name: statistics.median(loop for _, loop in player.times) / launches
                  for name, player in players.items()}
    bench.row.figure("a launch", ", ".join(f"{name} {ns:.0f} ns" for name, ns in per_launch.items()))
    bench.row.figure("launches a second, bare", f"{1e9 / per_launch['bare']:,.0f}")
    if not bench.simulated:
        check_limits(bench, added)
    errors = (players["active"].folder / "stderr.txt").read_text()
    lost = re.findall(r"(\d+) lost", errors)
    bench.row.check(lost in ([], ["0"]), f"lost {lost}")


# What of an idle agent costs a launch 40 to 80 ns, if it is the agent.
IDLE_PARTS = {"idle": {}, "without driver": {"TRACEAGENT_DOORS_DRIVER": "false"},
              "without dlsym": {"TRACEAGENT_DOORS_DLSYM": "false", "TRACEAGENT_DOORS_DRIVER": "false"},
              # Steps are NVTX ranges here: with that door shut other steps, or the agent records from the start.
              "without NVTX": {"TRACEAGENT_DOORS_NVTX": "false", "TRACEAGENT_STEP_MARK": "every:1h"},
              "off": {"TRACEAGENT_ENABLED": "false"}}


def play_launches(bench, schedule, choices, turns):
    """(players, launches a step): empty kernels bare, bare again, and with the agent and each of these options."""
    launches, turns = (50, 5) if bench.simulated else (1000, turns)
    variables, command = bench.cuda_variables(GPU_LAUNCHES=launches), [bench.compiler.program("launches")]
    modes = {"bare": (command, lambda folder: variables), CONTROL: (command, lambda folder: variables)}
    modes |= {name: (command, lambda folder, o=options: bench.traced(variables, folder, **schedule, **o))
              for name, options in choices.items()}
    return play(bench, modes, steps_in_turn=STEPS_IN_TURN, turns=turns, cpus=2), launches


@case("what an idle agent costs a launch, by its doors, beside a second bare process", limit_s=120, alone=True)
def overhead_idle(bench):
    players, launches = play_launches(bench, IDLE, IDLE_PARTS, turns=25)
    loops = {name: [loop for _, loop in player.times] for name, player in players.items()}
    for name, found in loops.items():
        percent, lower, upper = added_percent(found, loops["bare"], STEPS_IN_TURN)
        bench.row.figure(name, f"{statistics.median(found) / launches:.0f} ns a launch, "
                               f"{percent:+.2f} % (quartiles {lower:+.2f} and {upper:+.2f})")
        recorded = rank_files(players[name].folder / "traces")
        bench.row.check(not recorded, f"{name} recorded: {recorded}")


@case("where the active cost goes: doors alone, with the driver's, with CUPTI", limit_s=120, alone=True)
def overhead_by_door(bench):
    shut = {"TRACEAGENT_DOORS_DRIVER": "false", "TRACEAGENT_DOORS_CUPTI": "false"}
    choices = {"cudart door": shut, "cudart and driver": {**shut, "TRACEAGENT_DOORS_DRIVER": "true"},
               "CUPTI too": {}}
    players, launches = play_launches(bench, ACTIVE, choices, turns=20)
    for name, player in players.items():
        step, loop = (statistics.median(column) / launches for column in zip(*player.times))
        bench.row.figure(name, f"{loop:.0f} ns a launch, {step:.0f} ns with its kernel")
