#!/usr/bin/env python3
"""CUPTI taken by another, refused, absent, or taken into use by the job itself: the job's output is
untouched, one line says what is the matter, and NCCL operations are timed by CUDA events, within the
error that the trace states, of the simulator's truth.
"""

import collections
import re
import subprocess

from places import BUILD, SANITIZED, need
from traced_run import report, run_ranks, variables_of

RANKS = 2
PROGRAMS = BUILD / "programs"
USER = PROGRAMS / "cupti_user"
CUPTI = {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/sim/cupti"}
WITHOUT_CUPTI = {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib"}
# Steps of 20 ms: the agent's threads have time to follow also on a machine that is busy.
SLOW = "kernels: {default: 5ms}\nfaults:\n"
CYCLES = "skip_first=5,wait=1,warmup=8,active=3,repeat=3"
STEPS = ["--steps", "45"]
CLOCK_ERROR_NS = 1000
TAKEN = "CUPTI is in use by another profiler"


def script(folder, *faults):
    path = folder / "script.yaml"
    path.write_text(SLOW + ("".join(f"  - {fault}\n" for fault in faults) or "  []\n"))
    return path


def own_lines(text):
    """What the ranks say that does not differ from run to run, in no order."""
    return sorted(line for line in text.splitlines() if not line.startswith(("own ", "traceagent: ")))


def traced(folder, command, faults=(), libraries=CUPTI, **environment):
    """A run in a folder of its own, its trace; problems of its output against the bare program's."""
    folder.mkdir()
    settings = {"SIMGPU_SCRIPT": script(folder, *faults), **libraries}
    bare = subprocess.run(["mpirun", "--oversubscribe", "-n", str(RANKS), *map(str, command)], cwd=folder,
                          env=variables_of(folder, **settings, SIMGPU_TRUTH=""), capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=200)
    settings |= {"TRACEAGENT_SCHEDULE": CYCLES} | environment
    run = run_ranks(folder, RANKS, command, **settings)
    problems = list(run.trace().problems())
    if bare.returncode != 0 or own_lines(bare.stdout) != own_lines(run.out):
        problems.append(f"output {own_lines(run.out)}, bare {bare.returncode} {own_lines(bare.stdout)}")
    if own_lines(bare.stderr) != own_lines(run.err):
        problems.append(f"stderr {own_lines(run.err)}, bare {own_lines(bare.stderr)}")
    return run, problems


def line_problems(run, *wanted):
    """Beside the result's line one line for each of these patterns, and no other."""
    lines = [line for line in run.err.splitlines() if line.startswith("traceagent: ")
             and "node0.json" not in line]
    for pattern in wanted:
        if len([line for line in lines if re.search(pattern, line)]) != 1:
            yield f"not one line of {pattern!r}: {lines}"
    if len(lines) != len(wanted):
        yield f"{len(wanted)} lines wanted, said: {lines}"


def operations(trace):
    """{(rank, correlation): event} of the calls that launch NCCL kernels: groups by their end."""
    found, depth = {}, collections.Counter()
    for event in trace.events:
        if event["ph"] != "X" or event["cat"] != "nccl":
            continue
        lane = event["pid"], event["tid"]
        depth[lane] += {"ncclGroupStart": 1, "ncclGroupEnd": -1}.get(event["name"], 0)
        is_group_end = event["name"] == "ncclGroupEnd"
        if is_group_end or (depth[lane] == 0 and "Collective name" in event["args"]):
            found[event["pid"], event["args"]["correlation"]] = event
    return found


def timed(trace):
    return [event for event in trace.events
            if event["ph"] == "X" and event.get("args", {}).get("timed by") == "CUDA events"]


class DeviceTruth:
    def __init__(self, run):
        truth = run.truth()
        self.calls = collections.defaultdict(list)
        self.work = collections.defaultdict(list)
        self.marks = truth.marks
        for record in truth.records:
            if record["kind"] == "call":
                self.calls[record["rank"], record["function"]].append(record)
            elif record["kind"] == "device":
                self.work[record["rank"]].append(record)

    def call_within(self, rank, function, begin_ns, end_ns):
        """The simulator's call inside of ours: the nearest, for the two clocks differ a little."""
        return min((call for call in self.calls[rank, function] if call["begin_ns"] < end_ns + CLOCK_ERROR_NS),
                   key=lambda call: abs(call["begin_ns"] + call["end_ns"] - begin_ns - end_ns), default=None)

    def launched_by(self, rank, call, stream):
        """(begin, end) of what the call put on the stream."""
        work = [each for each in self.work[rank] if each["stream"] == stream
                and call["begin_ns"] <= each["launch_begin_ns"] <= call["end_ns"]]
        if not work:
            return None
        return min(each["begin_ns"] for each in work), max(each["end_ns"] for each in work)


def time_problems(trace, truth, events, hosts):
    """Each timed event against the truth: no further off than it says itself."""
    for event in events:
        args = event["args"]
        host = hosts.get((event["pid"], args["correlation"]))
        if host is None:
            yield f"without its call: {event}"
            continue
        begin_ns, end_ns = trace.begin_ns(host), trace.end_ns(host)
        call = truth.call_within(event["pid"], host["name"], begin_ns, end_ns)
        true = call and truth.launched_by(event["pid"], call, int(args["stream handle"], 16))
        if not true:
            yield f"not in the truth: {event}, {call}"
            continue
        error_ns = args["time error (us)"] * 1000 + CLOCK_ERROR_NS
        # The first event is reached when the stream is free, but not before the call; the second
        # one after the work, or when the call came to it.
        earliest = true[0] if true[0] > call["end_ns"] else begin_ns
        if not earliest - error_ns <= trace.begin_ns(event) <= true[0] + error_ns:
            yield f"begins {trace.begin_ns(event) - true[0]} ns after {true}: {event}, {call}"
        if not true[1] - error_ns <= trace.end_ns(event) <= max(true[1], end_ns) + error_ns:
            yield f"ends {trace.end_ns(event) - true[1]} ns after {true}: {event}, {call}"


def events_problems(run, cycles=3):
    """Every NCCL operation of that many cycles is timed by events, and correctly."""
    trace = run.trace()
    truth, hosts, events = DeviceTruth(run), operations(trace), timed(trace)
    ends = {rank: sorted(window[1] for window in trace.windows(rank))[cycles - 1] for rank in range(RANKS)}
    wanted = {key for key, event in hosts.items() if trace.begin_ns(event) < ends[key[0]]}
    seen = collections.Counter((event["pid"], event["args"]["correlation"]) for event in events)
    print(f"{len(wanted)} operations, {len(events)} timed, errors up to "
          f"{max((event['args']['time error (us)'] for event in events), default=0)} us")
    streams = {key: 2 if hosts[key]["name"] == "ncclGroupEnd" else 1 for key in wanted}
    if seen != streams:
        yield f"not timed {sorted(wanted - set(seen))[:5]}, too much {sorted(set(seen) - wanted)[:5]}, {seen}"
    yield from time_problems(trace, truth, events, hosts)
    arrows = collections.Counter((event["ph"], event["id"]) for event in trace.events if event["ph"] in "sf")
    if len(arrows) != 2 * len(wanted) or set(arrows.values()) != {1}:
        yield f"{len(arrows)} ends of arrows for {len(wanted)} operations: {arrows.most_common(3)}"
    for about in trace.about:
        if about["window"]["end_ns"] <= max(ends.values()) and about["device"]["source"] != "cuda_events":
            yield f"device times from {about['device']}"


def taken_from_the_start(folder):
    run, problems = traced(folder, [USER, *STEPS], ["cupti_taken: {}"])
    yield from problems
    yield from line_problems(run, TAKEN)
    yield from events_problems(run)


def refused(folder):
    run, problems = traced(folder, [USER, *STEPS], ["cupti_refused: {}"])
    yield from problems
    yield from line_problems(run, "NVreg_RestrictProfilingToAdminUsers=0|CAP_SYS_ADMIN")
    yield from events_problems(run)


def known_to_hang(folder):
    """CUPTI of CUDA 13.0: used only where the job's user says so."""
    run, problems = traced(folder, [USER, *STEPS], ["cupti_of_13_0: {}"])
    yield from problems
    yield from line_problems(run, "13.0 Update 1")
    yield from events_problems(run)
    run, problems = traced(folder.with_name(folder.name + "_asked_for"), [USER, *STEPS], ["cupti_of_13_0: {}"],
                           TRACEAGENT_DEVICE_UNSAFE_CUPTI="true")
    yield from problems
    yield from line_problems(run)
    if {about["device"]["source"] for about in run.trace().about} != {"cupti"}:
        yield f"asked for, and not used: {[about['device'] for about in run.trace().about]}"


def absent(folder):
    """No libcupti at all: the program that uses none."""
    run, problems = traced(folder, [PROGRAMS / "step_data_parallel", *STEPS], libraries=WITHOUT_CUPTI)
    yield from problems
    yield from line_problems(run, "CUPTI")
    yield from events_problems(run)


def taken_over(folder):
    """The other one leaves after two attempts, at the start and in the first cycle: the agent makes one in each
    cycle, however long its steps are, and from then on has its times from CUPTI."""
    run, problems = traced(folder, [USER, "--steps", "70"], ["cupti_taken: {attempts: 2}"],
                           TRACEAGENT_SCHEDULE=CYCLES.replace("repeat=3", "repeat=5"))
    yield from problems
    yield from line_problems(run, TAKEN)
    trace = run.trace()
    for rank in range(RANKS):
        abouts = sorted((about for about in trace.about if about["identity"]["rank"] == rank),
                        key=lambda about: about["window"]["cycle"])
        sources = [about["device"]["source"] for about in abouts]
        print(f"rank {rank}: {sources}")
        if sources != sorted(sources) or len(set(sources)) != 2:
            yield f"rank {rank}: times from {sources}"
        for about in abouts:
            # On a busy machine CUPTI may not be on yet when its first window begins; the trace says so.
            if about["device"].get("recording_since_ns", 0) <= about["window"]["begin_ns"]:
                yield from source_problems(trace, rank, about)
    yield from time_problems(trace, DeviceTruth(run), timed(trace), operations(trace))


def source_problems(trace, rank, about):
    window = about["window"]
    inside = [event for event in trace.events if event["ph"] == "X" and event["cat"] == "kernel"
              and event["pid"] == rank and window["begin_ns"] <= trace.begin_ns(event) < window["end_ns"]]
    by_events = about["device"]["source"] == "cuda_events"
    wanted = {"ncclAllReduce": 6, "ncclGroupEnd": 6} if by_events else {"forward": 12, "ncclDevKernel": 12}
    names = collections.Counter(re.split("[_ ]", event["name"])[0] for event in inside)
    if names != wanted or by_events != all("timed by" in event["args"] for event in inside):
        yield f"rank {rank}, cycle {window['cycle']}, {about['device']}: {names}"


def capture_in_another_thread(folder):
    for name, faults in (("cupti", []), ("events", ["cupti_taken: {}"])):
        run, problems = traced(folder.with_name(f"{folder.name}_{name}"), [USER, *STEPS, "--capture"], faults)
        yield from problems
        yield from line_problems(run, *([TAKEN] if faults else []))
        if faults:
            yield from events_problems(run)


def launches_too(folder):
    run, problems = traced(folder, [USER, *STEPS], ["cupti_taken: {}"],
                           TRACEAGENT_DEVICE_TIME_LAUNCHES="true")
    yield from problems
    trace = run.trace()
    hosts = {(event["pid"], event["args"]["correlation"]): event for event in trace.events
             if event["ph"] == "X" and event["cat"] == "cuda_runtime" and event["name"] == "cudaLaunchKernel"}
    launches = [event for event in timed(trace) if (event["pid"], event["args"]["correlation"]) in hosts]
    print(f"{len(hosts)} launches, {len(launches)} timed")
    if len(launches) != len(hosts) or {event["name"] for event in launches} != {"forward_kernel (timed)"}:
        yield f"{len(launches)} of {len(hosts)} launches timed, {launches[:1]}"
    yield from time_problems(trace, DeviceTruth(run), launches, hosts)


def own_record_problems(run, rank=0):
    """What the job's own profiler was told is all that ran in its spells, and nothing else."""
    truth = DeviceTruth(run)
    spells = [(begin, truth.marks(rank, "profiled_to")[spell])
              for spell, begin in truth.marks(rank, "profiled_from").items()]
    # The records of one group are parts of one kernel.
    wanted = collections.Counter(
        (work["name"].partition("(")[0], work["begin_ns"], work["kernel_end_ns"])
        for work in truth.work[rank] if work["part"] == 0 and work["work"] in ("kernel", "collective")
        and any(begin <= work["launch_begin_ns"] < end for begin, end in spells))
    lines = [line.split() for line in run.out.splitlines() if line.startswith("own ")]
    told = collections.Counter((demangled(line[2]), int(line[3]), int(line[4])) for line in lines
                               if line[1] == "kernel")
    print(f"{len(spells)} spells, {sum(wanted.values())} kernels in them, the job was told of {len(lines)}")
    if len(spells) != 2 or not wanted or told != wanted or len(lines) != sum(told.values()):
        yield (f"own records: missing {list((wanted - told).items())[:3]}, too much "
               f"{list((told - wanted).items())[:3]}, {len(lines)} lines")


def demangled(symbol):
    found = re.match(r"_Z(\d+)", symbol)
    return symbol[found.end():found.end() + int(found[1])] if found else symbol


def the_jobs_own_use(folder):
    for flags in (["--own"], ["--own", "--once"]) if SANITIZED else (["--own"], ["--own", "--dlsym"], ["--own", "--once"]):
        name = "".join(flags).replace("-", "_")
        run, problems = traced(folder.with_name(folder.name + name), [USER, *STEPS, *flags])
        yield from problems
        yield from own_record_problems(run)
        sources = [(about["window"]["cycle"], about["device"]["source"]) for about in run.trace().about]
        print(f"{flags}: {sorted(sources)}")
        yield from time_problems(run.trace(), DeviceTruth(run), timed(run.trace()), operations(run.trace()))
        for about in run.trace().about:
            # Where the job began in mid-window, each half has its own.
            if (about["device"]["source"] == "cuda_events") == (about["device"]["work"] == 0):
                yield from source_problems(run.trace(), about["identity"]["rank"], about)


def a_clock_of_the_jobs(folder):
    """The job's profiler has CUPTI take its times from another clock, for good: the agent has its own times before,
    says why it has none after, and shows nothing at a wrong time."""
    for flags in (["--own-clock"],) if SANITIZED else (["--own-clock"], ["--own-clock", "--dlsym"]):
        name = "".join(flags).replace("-", "_")
        run, problems = traced(folder.with_name(folder.name + name), [USER, *STEPS, "--own", *flags])
        yield from problems
        said = [line for line in run.err.splitlines() if "clock of its own" in line]
        if len(said) != 1:
            yield f"said of the clock: {said}"
        trace = run.trace()
        sources = sorted((about["window"]["cycle"], about["device"]["source"]) for about in trace.about)
        print(f"{flags}: {sources}")
        if sources[-1][1] != "cuda_events":
            yield f"times after the job's own use from {sources}"
        yield from time_problems(trace, DeviceTruth(run), timed(trace), operations(trace))
        for about in trace.about:
            if (about["device"]["source"] == "cuda_events") == (about["device"]["work"] == 0):
                yield from source_problems(trace, about["identity"]["rank"], about)


CASES = [taken_from_the_start, refused, known_to_hang, absent, taken_over, capture_in_another_thread, launches_too,
         the_jobs_own_use, a_clock_of_the_jobs]


def cases(folder):
    need(USER, "tests/programs/cupti_user")
    for case in CASES:
        problems = list(case(folder / case.__name__))
        print(f"{case.__name__}: {len(problems)} problems")
        yield from (f"{case.__name__}: {problem}" for problem in problems)


report(cases)
