#!/usr/bin/env python3
"""What the trace says of NCCL's plans against what the simulated NCCL did: CASE."""

import collections
import itertools
import json
import re

from comparison import DATA_TYPES
from places import ARGUMENTS, BUILD
from trace_file import SPILL
from traced_run import TracedRun, report, run_command, run_ranks, variables_of

RANKS = 4
PROGRAMS = BUILD / "programs"
BYTES = dict(zip(DATA_TYPES, [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]))
PLAN_KEYS = ("algorithm", "protocol", "channels", "nccl seq", "comm id")


def run(folder, program, script="", **environment):
    (folder / "script.yaml").write_text(f"nccl: {{{script}}}\n")
    return run_ranks(folder, RANKS, [PROGRAMS / program], SIMGPU_SCRIPT=folder / "script.yaml",
                     SIMGPU_NCCL_PLANS=folder / "{pid}.plans", TRACEAGENT_DOORS_CUPTI="false", **environment)


def plans_of(folder):
    """{rank: [plan]}: what the simulated NCCL did."""
    lines = [json.loads(line) for path in sorted(folder.glob("*.plans")) for line in path.read_text().splitlines()]
    plans = collections.defaultdict(list)
    for line in lines:
        plans[line["rank"]].append(line)
    return plans


def expected(plan, operations=()):
    """The arguments of a plan's event, as far as the version and the kind of operation tell them."""
    args = {"comm id": plan["comm"]}
    if plan["pair"]:
        args["channels"] = max(each["channels"] for each in operations or [plan])
    else:
        args |= {"nccl seq": plan["seq"], "algorithm": plan["algorithm"], "protocol": plan["protocol"],
                 "channels": plan["channels"]}
    return args


def told(event):
    return {key: event["args"][key] for key in PLAN_KEYS if key in event["args"]}


def pairs_of(trace, truth):
    """[(event, call)] of all NCCL calls, which the window holds from the first to the last."""
    pairs = []
    events, calls = collections.defaultdict(list), collections.defaultdict(list)
    for event in trace.events:
        if event.get("cat") == "nccl":
            events[event["pid"], event["tid"] % SPILL].append(event)
    for lane, all_calls in truth.calls().items():
        calls[lane] += [call for call in all_calls if call["library"] == "nccl"]
    for lane in events.keys() | calls.keys():
        pairs += itertools.zip_longest(events[lane], calls[lane])
    return pairs


def call_problems(trace, truth, plans, version):
    """Every call has the plan that NCCL made for it, and no other."""
    of_call = collections.defaultdict(list)
    for rank, all_plans in plans.items():
        for plan in all_plans:
            of_call[rank, plan["call"]].append(plan)
    explained = 0
    for event, call in pairs_of(trace, truth):
        if event is None or call is None or event["name"] != call["function"]:
            yield f"the calls part here: {event} was {call}"
            return
        mine = of_call.pop((event["pid"], call["number"]), None)
        if mine is None:
            if told(event):
                yield f"no plan was made for {event}"
            continue
        want = expected(mine[0], mine)
        if version < 4 and mine[0]["pair"]:
            del want["channels"]
        if told(event) != want:
            yield f"wanted {want}, told {told(event)}: {event}"
        if event["args"].get("nccl operations", 1) != len(mine):
            yield f"{len(mine)} operations: {event}"
        explained += 1
    if of_call:
        yield f"plans without a call: {list(of_call.items())[:3]}"
    print(f"{explained} calls explained")
    if explained < 30 * RANKS:
        yield "too few calls were explained"


def doors_of(trace):
    return {about["identity"]["rank"]: about["doors"] for about in trace.about}


def metadata_problems(trace, plans, unseen):
    for about in trace.about:
        rank = about["identity"]["rank"]
        count = len(plans[rank])
        wanted = {"seen": count, "calls_no_wrapper_saw": count if unseen else 0, "of_calls_outside_the_window": 0}
        shown = about["nccl_plans"]
        if any(shown[key] != value for key, value in wanted.items()):
            yield f"rank {rank}: wanted {wanted}, told {shown}"
        if about["doors"]["nccl_plugin"] != {"open": True, "calls": count}:
            yield f"rank {rank}: {about['doors']}"


def version(folder, number):
    done = run(folder, "nccl_plans", f"plugin_version: {number}")
    trace, plans = done.trace(), plans_of(folder)
    yield from trace.problems()
    yield from call_problems(trace, done.truth(), plans, number)
    yield from metadata_problems(trace, plans, unseen=False)


def static(folder, number):
    """No wrapper sees the calls: the plans are the events, one for each."""
    done = run(folder, "nccl_plans_static", f"plugin_version: {number}")
    trace, plans = done.trace(), plans_of(folder)
    yield from trace.problems()
    yield from metadata_problems(trace, plans, unseen=True)
    for rank in range(RANKS):
        events = [event for event in trace.events if event["pid"] == rank and event.get("cat") == "nccl"]
        calls = [(event["name"], event["args"]["bytes"], tuple(sorted(told(event).items()))) for event in events]
        wanted = []
        for plan in plans[rank]:
            args = expected(plan)
            if number < 4 and plan["pair"]:
                del args["channels"]
            size = plan["count"] * BYTES[DATA_TYPES[plan["dtype"]]]
            wanted.append((plan["function"], size, tuple(sorted(args.items()))))
        if sorted(calls, key=repr) != sorted(wanted, key=repr):
            missing = [plan for plan in wanted if plan not in calls]
            yield f"rank {rank}: {len(calls)} events of {len(wanted)}; missing {missing[:2]}"
        correlations = [event["args"]["correlation"] for event in events]
        if len(set(correlations)) != len(correlations):
            yield f"rank {rank}: one correlation twice"
    groups = {event["args"].get("Group size") for event in trace.events if event.get("cat") == "nccl"}
    if number >= 4 and groups != {RANKS}:
        yield f"group sizes {groups}"
    if not trace.document["distributedInfo"]["pg_config"]:
        yield "no process group"


def shut(folder):
    """Neither a plan nor a plugin; and `none`, the user's word, stays."""
    for environment in ({"TRACEAGENT_DOORS_NCCL_PLUGIN": "false"}, {"NCCL_PROFILER_PLUGIN": "none"}):
        done = run(folder, "nccl_plans", TRACEAGENT_OUTPUT_OVERWRITE="true", **environment)
        trace = done.trace()
        yield from trace.problems()
        if any(told(event) for event in trace.events if event.get("cat") == "nccl"):
            yield f"{environment}: plans all the same"
        if any(doors["nccl_plugin"] != {"open": False, "calls": 0} for doors in doors_of(trace).values()):
            yield f"{environment}: {doors_of(trace)}"


def outside_windows(folder):
    """The schedule takes the mask away: what no window holds is not recorded either. CUPTI, which is slower to
    come and go than these windows of a millisecond, must have lost nothing: trace.problems() would tell."""
    done = run_ranks(folder, RANKS, [PROGRAMS / "step_tensor_pipeline", "--steps", "30"],
                     SIMGPU_NCCL_PLANS=folder / "{pid}.plans", TRACEAGENT_STEP_MARK="nvtx:step",
                     TRACEAGENT_SCHEDULE="skip_first=10,wait=2,warmup=1,active=2,repeat=2")
    trace, plans = done.trace(), plans_of(folder)
    yield from trace.problems()
    for about in trace.about:
        rank, shown = about["identity"]["rank"], about["nccl_plans"]
        if not 0 < shown["seen"] < len(plans[rank]) / 4 or shown["calls_no_wrapper_saw"]:
            yield f"rank {rank}: {shown} of {len(plans[rank])}"
    bare = [event for event in trace.events if event.get("cat") == "nccl" and "Collective name" in event["args"]
            and not told(event)]
    print(f"{sum(about['nccl_plans']['seen'] for about in trace.about)} plans in windows")
    if bare:
        yield f"{len(bare)} calls of windows without a plan: {bare[0]}"


def user_plugin(folder, number, mask):
    """A plugin of the user's own sees the same with us and without us; so do we."""
    logs = []
    program = [PROGRAMS / "nccl_plans", "blocking"]
    for traced in (False, True):
        here = folder / str(traced)
        here.mkdir()
        environment = {"NCCL_PROFILER_PLUGIN": PROGRAMS / f"libnccl_user_plugin_{number}.so",
                       "USER_PLUGIN_LOG": here / "{pid}.log", "USER_PLUGIN_MASK": mask,
                       "SIMGPU_NCCL_PLANS": here / "{pid}.plans"}
        if traced:
            done = run_ranks(here, RANKS, program, **environment)
        else:
            words = ["mpirun", "--oversubscribe", "-n", RANKS, *program]
            run_command(here, words, variables_of(here, **environment))
        logs.append(sorted(path.read_text() for path in here.glob("*.log")))
    if logs[0] != logs[1] or len(logs[0]) != RANKS or min(map(len, logs[0])) < 500:
        difference = next((pair for pair in zip(*("".join(log).splitlines() for log in logs)) if pair[0] != pair[1]),
                          "in length")
        yield f"the user's plugin saw something else: {difference}"
    print(f"{sum(text.count('start ') for text in logs[0])} events in the user's own log")
    trace = done.trace()
    yield from trace.problems()
    yield from call_problems(trace, TracedRun(here, "", "").truth(), plans_of(here), number)
    coverage = [about["coverage"]["nccl_plugin"] for about in trace.about]
    if any(each["version"] != number or not each["chained_to_users_own"] for each in coverage):
        yield f"coverage: {coverage}"


def installed_plugin(folder):
    """A libnccl-profiler.so, which NCCL opens where no plugin is named, stays the user's."""
    (folder / "lib").mkdir()
    (folder / "lib/libnccl-profiler.so").symlink_to(PROGRAMS / "libnccl_user_plugin_5.so")
    done = run(folder, "nccl_plans", LD_LIBRARY_PATH=f"{BUILD}/sim/lib:{folder}/lib",
               USER_PLUGIN_LOG=folder / "{pid}.log")
    trace = done.trace()
    yield from trace.problems()
    yield from call_problems(trace, done.truth(), plans_of(folder), 5)
    logs = list(folder.glob("*.log"))
    if len(logs) != RANKS or any("finalize" not in log.read_text() for log in logs):
        yield f"the user's plugin was not called: {logs}"
    if not all(about["coverage"]["nccl_plugin"]["chained_to_users_own"] for about in trace.about):
        yield "not chained"


def users_plugin_without_dlsym(folder):
    """With the dlsym door shut there is no way between NCCL and the user's plugin, and the file says so."""
    done = run(folder, "nccl_plans", NCCL_PROFILER_PLUGIN=PROGRAMS / "libnccl_user_plugin_5.so",
               USER_PLUGIN_LOG=folder / "{pid}.log", TRACEAGENT_DOORS_DLSYM="false")
    trace = done.trace()
    yield from trace.problems()
    if len(list(folder.glob("*.log"))) != RANKS:
        yield "the user's plugin was not called"
    if any(doors["nccl_plugin"] != {"open": False, "calls": 0} for doors in doors_of(trace).values()):
        yield f"{doors_of(trace)}"


def parts(folder):
    """Kernel channels and proxies, on lanes of their own."""
    done = run(folder, "nccl_plans", TRACEAGENT_NCCL_KERNEL_CHANNELS="true", TRACEAGENT_NCCL_NETWORK="true")
    trace, plans = done.trace(), plans_of(folder)
    yield from trace.problems()
    yield from call_problems(trace, done.truth(), plans, 5)
    by_kind = collections.Counter()
    for event in trace.events:
        if event.get("cat") not in ("nccl_channel", "nccl_proxy"):
            continue
        by_kind[event["pid"], re.sub(r" \d+$", "", event["name"])] += 1
        if event["tid"] < 7_000_000:
            yield f"on a thread's lane: {event}"
        args = event["args"]
        if event["cat"] == "nccl_channel" and trace.end_ns(event) - trace.begin_ns(event) - \
                (args["gpu end ns"] - args["gpu begin ns"]) not in range(-2, 3):
            yield f"not as long as the GPU said: {event}"
        if event["cat"] == "nccl_channel" and abs(trace.begin_ns(event) - args["gpu begin ns"]) > 1000:
            yield f"not when the GPU said: {event}"
    for rank in range(RANKS):
        wanted = collections.Counter()
        for plan in plans[rank]:
            name = plan["function"]
            wanted[f"{name} channel"] += min(plan["channels"], 3)
            wanted[f"{name} proxy {'receive' if name[4] == 'R' else 'send'}"] += 1
            wanted[f"proxy {'receive' if name[4] == 'R' else 'send'}"] += 1  # another process's
            wanted[f"{name} step"] += 2
        here = {name: count for (pid, name), count in by_kind.items() if pid == rank}
        if here != wanted:
            yield f"rank {rank}: wanted {dict(wanted)}, told {here}"
    print(f"{sum(by_kind.values())} parts")


def case(folder):
    name, *numbers = ARGUMENTS
    return globals()[name](folder, *map(int, numbers))


report(case)
