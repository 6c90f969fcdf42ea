"""What must hold after a run with a fault, whatever the fault was."""

import collections
import gzip
import json
import re
import signal

import true_counters
from fault_job import Traces

HOST = ("cuda_runtime", "nccl", "user_annotation", "cuda_driver")
DEVICE = ("kernel", "gpu_memset")
KEPT = "what could not be written stays in memory"
LOST = re.compile(r", (?!0 lost)\d+ lost|; also |died: recovered|nothing from (?:local )?ranks?|events are lost|tracing is off")
FOLLOWS = re.compile(f"{KEPT}|died: recovered|: nothing from (?:local )?ranks?|ranks do not find each other|"
                     "are lost: they could not be written, and private memory")
KILLED = ("rank killed", "rank killed, holes", "child killed")  # what is recovered of one says itself that it is not complete
KEEPER_PATIENCE_S = 20
PATIENCE_S = 40  # a busy machine; waits of the agent are 3 s each


class Expected:
    """A run of the same without faults, and without the agent."""

    def __init__(self, bare, bare_files, traced_files, called):
        self.bare, self.bare_files = bare, bare_files
        self.called = called  # keys of its places
        self.counts = totals(Traces(traced_files))
        self.merged_slices = merged_slices(traced_files)
        self.counters = true_counters.of_rank_zero(Traces(traced_files))
        # The tool's: the files it was given or makes.
        self.names = set(traced_files)

    def lower(self, traced_files):
        """By another run, which kept less."""
        others = totals(Traces(traced_files))
        for key, counts in self.counts.items():
            for name in counts:
                counts[name] = min(counts[name], others[key][name])


def totals(traces):
    """(host slices, device slices) of the ranks' files together, and of the merged file."""
    sums = collections.defaultdict(collections.Counter)
    for name, counts in traces.counts().items():
        if name.startswith("there/"):
            continue  # a copy
        kind = "ranks" if "rank" in name else "merged"
        sums[kind, "host"].update({key: counts[key] for key in HOST})
        sums[kind, "device"].update({key: counts[key] for key in DEVICE})
    return sums


def job_problems(expected, ended, files, cell):
    # A default action that can never be set back: see README.md.
    refused = [each for each in cell.faults() if each.place.function.name == "sigaction"]
    if (len(refused) > 1 or any(each.lasts for each in refused)) and ended.code == 128 + signal.SIGTERM:
        ended.code = expected.bare.code
    if is_blocked(cell):
        return
    seen, wanted = own_outcome(ended, files), own_outcome(expected.bare, expected.bare_files)
    if any("the job runs without this tool" in line for line in ended.lines()):
        wanted[1].remove("the user's own tool")
    for what, one, other in zip(("exit code", "stdout", "stderr", "files"), seen, wanted):
        if one != other:
            yield f"the job's {what} is {one!r}, without the agent {other!r}"


def is_blocked(cell):
    """A mask that can be set and never be set back: the job's thread keeps its signals blocked, and runs on."""
    return cell.fails("pthread_sigmask") and cell.scenario.name == "terminated"


def own_outcome(ended, files):
    """Ranks end in any order."""
    own_files = {name: data for name, data in files.items() if name.startswith("own")}
    return ended.code, sorted(ended.out.splitlines()), sorted(ended.own_err()), own_files


def is_voiceless(cell):
    """What it would say may be what could not be written."""
    return cell.beneath is not None and cell.fails("write", "fwrite")


def tool_problems(ended, cell):
    if ended.code not in (0, 1, 2):
        yield f"the tool ends with {ended.code}"
    # A keeper whose log cannot be opened says there what stood in it.
    is_log_refused = cell.scenario.name == "wait" and cell.fails("open", "fstat")
    if ended.own_err() and not is_log_refused:
        yield f"the tool says more than its lines: {ended.own_err()}"
    # A file's line: "a.json -> /there/a.json: Permission denied: tried again".
    is_told = ended.lines() or "NO " in ended.out or re.search(r" -> .*: ", ended.out)
    if ended.code != 0 and not is_told and not is_voiceless(cell):
        yield f"the tool ends with {ended.code} and says nothing: {ended.out!r}"
    yield from form_problems(ended.lines())


def merged_slices(files):
    """Of a file that the tool was told to make."""
    made = next((data for name, data in files.items() if name.startswith("merged")), None)
    if made is None or not is_whole(made):
        return None
    document = json.loads(gzip.decompress(made) if made[:2] == b"\x1f\x8b" else made)
    return sum(event["ph"] == "X" for event in document["traceEvents"])


def merged_problems(expected, ended, files, cell):
    """Slices that are missing are told. A file that reads as empty cannot be told from one that is."""
    found = merged_slices(files)
    is_told = ended.code != 0 or ended.lines() or LOST.search(ended.out) or cell.does("end")
    if found is not None and found != expected.merged_slices and not is_told:
        yield f"{found} slices of {expected.merged_slices} are merged, and nobody says so"


def tool_file_problems(scenario, ended, traces, files, left, cell):
    """Under a final name there is a whole file or none; a hidden one stays where nothing can be removed
    alone, or where the ring that tells of it reads as empty."""
    may_stay = cell.fails("unlink") or cell.does("end")
    for name, what in traces.broken.items():
        if what != "not complete" and not (may_stay and is_hidden(name)):
            yield f"{name}: {what}"
    may_stay = may_stay or (cell.fails("unlinkat") and any("remove it by hand" in line for line in ended.lines()))
    strays = [name for name in files if is_hidden(name.removeprefix("out/.traceagent-upload/"))]
    if strays and not may_stay:
        yield f"left behind: {strays}"
    made = scenario.made
    if made in files and not is_whole(files[made]) and not is_kept_name(cell, files[made], ended.lines()):
        yield f"{made} is half a file"
    if scenario.name != "check" and made and (made in files) != (ended.code == 0) and not ended.lines():
        yield f"{made} {'is' if made in files else 'is not'} there, and the tool ends with {ended.code}"
    # Folders that may not be read are passed over: they are other users'.
    is_passed_over = cell.fails("openat") and cell.does("EACCES")
    is_silent = ended.code == 0 and not ended.lines() and not is_passed_over
    # A note alone goes with the next `recover`.
    if scenario.name in ("recover", "wait") and any(name.endswith(".ring") for name in left) and is_silent:
        yield "the rings are still here and nobody says why"


def is_kept_name(cell, data, lines):
    """Where no file can be renamed but onto another, its name is taken by an empty one first. If then neither renaming nor
    removing is allowed that stays, and the failure is told."""
    return data == b"" and cell.fails("unlink") and cell.fails("rename") and bool(lines)


def is_hidden(name):
    return re.search(r"(^|/)\.", name) is not None


def is_whole(data):
    try:
        json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        return True
    except (ValueError, OSError, EOFError):
        return False


def line_problems(ended, cell):
    scenario = cell.scenario
    said = [line for line in ended.problem_lines() if not re.search(scenario.says, line)]
    # One of each process: what went wrong. Without memory one has three, the kernels' times, the file and the ring that
    # stays; of uploads there is one more, what is not queued in the end. What follows of it for others is told beside.
    # Each fault may have its line.
    causes = [line for line in said if not FOLLOWS.search(line)]
    most = scenario.processes + max(2 * cell.is_of_memory(), scenario.uploads or scenario.may_keep) + len(cell.faults()) - 1
    if len(causes) > most or any(count > scenario.processes for count in collections.Counter(said).values()):
        yield f"too many lines: {said}"
    yield from form_problems(said)


def form_problems(lines):
    for line in lines:
        if line.count(": ") < 2:
            yield f"not `what: file or value: remedy`: {line}"


def trace_problems(expected, ended, traces, cell):
    said = [line for line in ended.lines() if not re.search(cell.scenario.says, line)]
    is_told = len(said) > 1 or any(LOST.search(line) for line in said) or \
        any("events, " not in line for line in said)
    may_stay = cell.fails("unlink")
    for name, what in traces.broken.items():
        if may_stay and is_hidden(name.removeprefix("out/")):
            continue
        if is_kept_name(cell, b"" if what.endswith(" in 0 bytes") else None, said):
            continue
        lacks_a_rank = cell.scenario.lacks_a_rank is not None and re.search(cell.scenario.lacks_a_rank, name)
        if what != "not complete" or not (is_told or lacks_a_rank or cell.scenario.name in KILLED):
            yield f"{name}: {what}"
    # A file that reads as empty cannot be told from one that is.
    keeps_all = any(KEPT in line for line in said) and not any(LOST.search(line) for line in said)
    if cell.does("end") or (is_told and not keeps_all):
        return
    found = totals(traces)
    # What is kept has been recovered by now.
    kinds = [("ranks", "host")] if keeps_all else expected.counts
    for key, wanted in ((key, expected.counts[key]) for key in kinds):
        if is_blocked(cell) and all(found[key][name] >= count for name, count in wanted.items()):
            continue
        # A tool that is to be ended may be quicker.
        may_be_more = key[1] != "host" or cell.scenario.others or cell.scenario.may_keep or \
            (cell.scenario.removes and is_told)
        lacks = {name: (found[key][name], count) for name, count in wanted.items()
                 if found[key][name] < count or (found[key][name] > count and not may_be_more)}
        if lacks and not (key[1] == "device" and says_device_lacks(traces)):
            yield f"{' '.join(key)} slices differ and nobody says so: {lacks}"


def counter_problems(expected, ended, traces, cell):
    """In every scenario what is shown is true; where it is about counters, they are all there."""
    # As for events: a file that reads as empty. And who asks the loader whether the driver is here cannot know
    # that it failed.
    is_told = cell.does("end") or cell.fails("dlopen") or \
        len([line for line in ended.lines() if not re.search(cell.scenario.says, line)]) > 1 or not traces.contents
    yield from true_counters.problems(expected.counters, traces, cell.scenario.name == "counters", is_told)


def says_device_lacks(traces):
    """In the metadata: CUPTI came late, or a launch's work did not."""
    for trace in traces.contents.values():
        about = trace.get("traceagent", {})
        device = about.get("device", {})
        begin_ns = about.get("window", {}).get("begin_ns", 0)
        if device.get("source") != "cupti" or device.get("launches_without_work") or \
                device.get("recording_since_ns", 0) > begin_ns:
            return True
    return False


def left_problems(ended, cell, left, recovered, left_then):
    scenario = cell.scenario
    if not left:
        return
    folder_is_told = any("recover" in line or "by hand" in line for line in ended.lines())
    rings = [name for name in left if name.endswith(".ring")]
    # Nobody is there to look at a killed rank's ring where the other's agent is off, or where one of
    # them could not read from /proc what run it belongs to: it waits for `recover`.
    waits = scenario.name.startswith("rank killed") and rings and all("/1-" in name for name in rings)
    # And a killed child's, where the parent has told of its own.
    waits = waits or (scenario.name == "child killed" and len(rings) == 1 and
                      any("events, " in line for line in ended.lines()))
    # Notes without a ring: README.md.
    waits = waits or (cell.beneath is not None and not rings)
    # The run that would take a dead one's place, and could be neither put there nor removed, and the note of who removed an
    # old one, which could not be removed: both go when they are 10 s old.
    goes_later = re.compile(r"\.dead-[-0-9]+/older$|/aside$")
    left_then = [name for name in left_then if not (cell.fails("unlink") and goes_later.search(name))]
    waits = waits or (cell.fails("unlink") and all(name.endswith("/aside") for name in left))
    if not folder_is_told and not waits:
        yield f"left in memory and not told: {left}"
    if recovered.code not in (0, 1):
        yield f"`recover` then ends with {recovered.code}: {recovered.err!r}"
    if left_then and not any("by hand" in line for line in ended.lines()):
        yield f"`recover` leaves {left_then}: {recovered.err!r}"


def older_problems(ended, gone):
    """The rings of a run that was killed before wait, or what was in them is told of."""
    if gone and not any(LOST.search(line) for line in ended.lines()):
        yield f"of an earlier run these are gone: {sorted(gone)}"
