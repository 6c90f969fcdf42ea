#!/usr/bin/env python3
"""What the trace says of NCCL's plans against what the simulated NCCL did: CASE."""

import collections
import itertools
import json
import re

from comparison import DATA_TYPES
from device_truth import gpu_slices
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
                     SIMGPU_NCCL_PLANS=folder / "{pid}.plans",
                     **{"TRACEAGENT_DOORS_CUPTI": "false", **environment})


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


class Kernels:
    """The NCCL kernels of a trace and what the truth says that they carry out."""

    def __init__(self, trace, truth, plans):
        self.plans = {(rank, plan["call"]): plan for rank, every in plans.items() for plan in every}
        calls = [record for record in truth.records
                 if record["kind"] == "call" and record["library"] == "nccl" and "comm" in record]
        # Those that NCCL's own threads launch for; in a group the calls themselves succeed.
        self.patient = {call["comm"] for call in calls if call["function"] == "ncclAllReduce" and call["result"] == 7}
        self.event_of = {(event["pid"], call["number"]): event for event, call in pairs_of(trace, truth)}
        self.found, self.alone = [], []
        parts = collections.defaultdict(list)
        for record in truth.records:
            if record["kind"] == "device" and record["work"] == "collective":
                parts[record["rank"], record["begin_ns"], record["cupti_stream"]].append(record)
        key = lambda each: (each["rank"], each["comm"], each["function"], each["seq"], each["peer"])  # noqa: E731
        call_of = {key(call): call for call in calls}
        for rank, slices in gpu_slices(trace).items():
            for event in slices:
                if event["cat"] == "kernel":
                    mine = parts.pop((rank, trace.begin_ns(event), event["args"]["stream"]), [])
                    asked = [call_of[key(part)] for part in mine]
                    self.found.append((event, asked)) if asked else self.alone.append(event)
        self.alone += list(parts.values())

    def by_other_thread(self, calls):
        return calls[0]["comm"] in self.patient

    def argument_problems(self, with_plans):
        comms = {}  # the trace's hash: the truth's
        for event, calls in self.found:
            shown, wanted = event["args"], call_arguments(calls)
            if any(shown.get(key) != wanted.get(key) for key in ("grouped", "bytes", "Seq")):
                yield f"wanted {wanted}: {event}, {calls}"
            if comms.setdefault(shown.get("comm hash"), calls[0]["comm"]) != calls[0]["comm"]:
                yield f"another communicator's: {event}, {calls}"
            if with_plans:
                yield from self.plan_problems(event, calls)

    def plan_problems(self, event, calls):
        plan = self.plans.get((event["pid"], calls[0]["number"]))
        shown = event["args"]
        if len(calls) > 1 or plan is None or plan["pair"]:
            return
        if told(event) != expected(plan):
            yield f"planned {expected(plan)}: {event}"
        elif ("_TREE_" in event["name"]) != (shown["algorithm"] == "TREE") or shown["grid"][0] != shown["channels"]:
            yield f"its name and its plan disagree: {event}"

    def arrow_problems(self, trace):
        """From a call to its kernel, where a thread of NCCL's launched that."""
        starts, ends = collections.defaultdict(set), {}
        for event in trace.events:
            if event.get("name") == "nccl_call" and event["ph"] == "s":
                starts[event["pid"], event["tid"], event["ts"]].add(event["id"])
            elif event.get("name") == "nccl_call" and event["ph"] == "f":
                ends[event["id"]] = event["pid"], event["tid"], event["ts"]
        arrived = collections.Counter(ends.values())
        for event, calls in self.found:
            place = event["pid"], event["tid"], event["ts"]
            asked = [self.event_of[event["pid"], call["number"]] for call in calls]
            flows = {flow for each in asked for flow in starts[each["pid"], each["tid"], each["ts"]]
                     if ends[flow] == place}
            if len(flows) != self.by_other_thread(calls) or len(flows) != arrived[place]:
                yield f"arrows {flows} to {event}, asked for by {calls}"


def call_arguments(calls):
    """The arguments that calls make for their kernel, as far as they are one."""
    kinds = {(call["function"], call["dtype"], call["op"], call["comm"]) for call in calls}
    wanted = {"grouped": len(calls)} if len(calls) > 1 else {}
    if len(kinds) == 1:
        wanted["bytes"] = sum(call["count"] * BYTES[DATA_TYPES[call["dtype"]]] for call in calls)
        wanted["Seq"] = min(call["seq"] for call in calls)
    return wanted


def kernels_of(folder, number, **environment):
    """What NCCL's own threads launch is launched when the calls have returned."""
    done = run(folder, "nccl_plans", f"plugin_version: {number}, launch_delay: 300us", TRACEAGENT_DOORS_CUPTI="true",
               **environment)
    trace = done.trace()
    return trace, Kernels(trace, done.truth(), plans_of(folder))


def told_without_call(trace):
    return {about["identity"]["rank"]: about["device"].get("nccl_kernels_without_call", {}) for about in trace.about}


def kernels(folder, number):
    """Every kernel has the arguments of the calls that it carries out, whichever thread launched it."""
    trace, every = kernels_of(folder, number)
    yield from trace.problems()
    yield from (f"a kernel or its truth alone: {each}" for each in every.alone)
    yield from every.argument_problems(with_plans=True)
    yield from every.arrow_problems(trace)
    if any(told_without_call(trace).values()):
        yield f"kernels without calls: {told_without_call(trace)}"
    of_threads = sum(every.by_other_thread(calls) for _, calls in every.found)
    print(f"{len(every.found)} kernels, {of_threads} launched by threads of NCCL's")
    if of_threads != 8 * RANKS or len(every.found) < 30 * RANKS:
        yield "not the kernels that were to be compared"


def kernels_without_plugin(folder):
    """Without NCCL's word the order of calls and launches tells, and the stream that the driver's door saw; not where
    two calls were under way at once and that door was shut, nor which of a group's communicators has which kernel."""
    for driver in ("true", "false"):
        place = folder / driver
        place.mkdir()
        yield from told_by_order(place, driver)


def told_by_order(folder, driver):
    trace, every = kernels_of(folder, 5, TRACEAGENT_DOORS_NCCL_PLUGIN="false", TRACEAGENT_DOORS_DRIVER=driver)
    yield from trace.problems()
    yield from (f"a kernel or its truth alone: {each}" for each in every.alone)
    bare = [(event, calls) for event, calls in every.found if "comm hash" not in event["args"]]
    every.found = [each for each in every.found if each not in bare]
    yield from every.argument_problems(with_plans=False)
    yield from every.arrow_problems(trace)
    at_once = sorted((event["pid"], calls[0]["count"]) for event, calls in bare)
    counts = [50, 60, 2048, 2048, 2048] if driver == "false" else [2048, 2048, 2048]
    if at_once != [(rank, count) for rank in range(RANKS) for count in counts]:
        yield f"without arguments: {at_once}"
    if any(causes != {"several_calls": len(counts)} for causes in told_without_call(trace).values()):
        yield f"kernels without calls: {told_without_call(trace)}"
    print(f"{len(every.found)} kernels with their calls, {len(bare)} without")


def case(folder):
    name, *numbers = ARGUMENTS
    return globals()[name](folder, *map(int, numbers))


report(case)
