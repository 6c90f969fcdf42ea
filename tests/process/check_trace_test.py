#!/usr/bin/env python3
"""traceagent check FILE on what traced programs left: nothing missing, or each gap by its cause."""
import gzip
import re
import shutil
import subprocess
import sys

from jobs import Checks, Place, TRACEAGENT, end_of
from places import BUILD, SANITIZED

DEMO = [BUILD / "bin/train_demo", "--steps", "16"]
LIBRARIES = f"{BUILD}/sim/lib:{BUILD}/sim/cupti"
# Kernels slow enough that CUPTI is on before the warm-up is over, on a busy machine too.
KERNELS = "kernels: {default: 200us}\n"
SCHEDULE = {"TRACEAGENT_STEP_MARK": "auto", "TRACEAGENT_SCHEDULE": "wait=2,warmup=8,active=3,repeat=1"}
# Calls two copies of one library; what the second one does passes no wrapper.
TWO_COPIES = """
import ctypes, os, sys, time
for path in sys.argv[1:]:
    cudart = ctypes.CDLL(path)
    for _ in range(3):
        assert cudart.cudaDeviceSynchronize() == 0
    time.sleep(0.5)
"""
checks = Checks()


def traced(place, command=DEMO, script="", **options):
    """The page of the node file, as lines, and check's exit code."""
    (place.path / "script.yaml").write_text(KERNELS + script)
    ended = place.run(command, place.agent(**{"LD_LIBRARY_PATH": LIBRARIES, **SCHEDULE,
                                              "SIMGPU_SCRIPT": place.path / "script.yaml", **options}))
    checks.check(ended.code == 0, f"the job: {ended}")
    return page_of(place.path / "job/traces/node0.json")


def page_of(*files):
    done = subprocess.run([TRACEAGENT, "check", *files], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def says(page, *parts):
    code, text, err = page
    for part in parts:
        checks.check(part in text, f"not said: {part}: exit code {code}, {text}{err}")


def test_nothing_missing():
    with Place() as place:
        page = traced(place)
        says(page, "yes  door cudart", "yes  libcudart.so.13", "from CUPTI: ", "losses                none",
             "yes  steps                 ", "; 3 steps of ", "Nothing is missing.")
        checks.check("small no" not in page[1] or "  no  " in page[1], f"nothing to explain: {page[1]}")
        checks.check(page[0] == 0 and "  NO " not in page[1], f"exit code {page[0]}: {page[1]}")
        file = next((place.path / "job/traces").glob("*rank0.json"))
        checks.check(page_of(file)[0] == 0, f"a rank file: {page_of(file)}")
        text = file.read_text()
        file.write_text(text[:len(text) // 2])
        cut = page_of(file)
        code, _, err = cut
        checks.check(code == 1 and err.startswith("traceagent: ") and err.count("\n") == 1, f"a cut file: {code} {err}")
        says(cut, " events could be read: traceagent merge ", "Something was missed: see NO above.")
        lines = text.split("\n")
        lines.pop(next(i for i, line in enumerate(lines) if '"ph":"X"' in line))
        file.write_text("\n".join(lines))
        changed = page_of(file)
        says(changed, "were written")
        checks.check(changed[0] == 1, f"a changed file: {changed[0]}")


def test_folder():
    """A line of each that lacks nothing, the page of one that does."""
    with Place() as place:
        traced(place)
        folder = place.path / "job/traces"
        page = page_of(folder)
        files = sorted(folder.glob("*.json"))
        checks.check(page[0] == 0 and sorted(page[1].splitlines()) == [f"{path}: nothing is missing" for path in files], f"{page}")
        cut = next(folder.glob("*rank0.json"))
        cut.write_text(cut.read_text()[:-100])
        page = page_of(folder)
        says(page, f"{folder}/node0.json: nothing is missing", f"{cut}\n\n", "Something was missed")
        checks.check(page[0] == 1, f"{page}")
        (folder / "others.json").write_text('{"traceEvents": []}')
        cut.unlink()
        page = page_of(folder)
        checks.check(page[0] == 0 and f"not a trace of TraceAgent's: {folder}/others.json" in page[2], f"others' too: {page}")
        cut.write_text("")
        page = page_of(folder)
        checks.check(page[0] == 1 and f"traceagent: an empty file: {cut}: at byte 0: give a trace" in page[2], f"an empty file: {page}")
        cut.unlink()
        for text, code in (('{"a": 1}', 0), ('[{"ph": "X", "ts": 1, "dur": 1, "name": "a", "pid": 0, "tid": 0}]', 0),
                           ("\0" * 5000, 1), ("no JSON", 1)):
            (folder / "others.json").write_text(text)
            page = page_of(folder)
            checks.check(page[0] == code and f"{folder}/others.json" in page[2], f"{text[:9]!r} beside ours: {page}")
        (folder / "others.json").unlink()
        packed = folder / "ours.json.gz"
        whole = gzip.compress((folder / "node0.json").read_bytes())
        for damaged in (whole[:60], whole[:5], whole[:40] + b"abcd" + whole[44:]):
            packed.write_bytes(damaged)
            page = page_of(folder)
            checks.check(page[0] == 1 and str(packed) in page[1] + page[2], f"damaged at its beginning: {page}")
        packed.unlink()
        cut.write_text("")
        (place.path / "empty").mkdir()
        checks.check(page_of(place.path / "empty")[0] == 1, "an empty folder")
        above = page_of(place.path / "job")
        checks.check(above[0] == 1 and "--recursive" in above[2], f"files in a folder within: {above}")
        for word in ("-r", "--recursive"):
            within = page_of(word, place.path / "job")
            checks.check(within[0] == 1 and "no trace" not in within[2], f"{within}")
            says(within, f"{folder}/node0.json: nothing is missing")


def test_folders_of_ranks():
    """A folder for each rank: together they are whole."""
    with Place() as place:
        (place.path / "script.yaml").write_text(KERNELS)
        running = [place.start(DEMO, variables) for variables in place.ranks(
            2, LD_LIBRARY_PATH=LIBRARIES, SIMGPU_SCRIPT=place.path / "script.yaml", TRACEAGENT_MERGE_MODE="off", **SCHEDULE)]
        ended = [end_of(process) for process in running]
        checks.check([each.code for each in ended] == [0, 0], f"two ranks: {ended}")
        folders = [place.path / f"rank{rank}" for rank in range(2)]
        for rank, folder in enumerate(folders):
            folder.mkdir()
            for path in (place.path / "job/traces").glob(f"*rank{rank}.json"):
                path.rename(folder / path.name)
        page = page_of(*folders)
        checks.check(page[0] == 0 and page[1].count(": nothing is missing\n") == 2 and page[1].count("missing") == 2, f"{page}")
        page = page_of(folders[0])
        checks.check(page[0] == 1 and f"{folders[0]}: missing: rank 1 of the job's 2: " in page[1], f"{page}")


def test_gaps():
    gaps = {
        "no CUPTI": ({"LD_LIBRARY_PATH": f"{BUILD}/sim/lib"}, "", ["NO   device times"]),
        "refused": ({}, "faults: [{cupti_refused: {}}]", ["NO   device times"]),
        "taken": ({}, "faults: [{cupti_taken: {}}]", ["NO   device times"]),
        "dropped": ({"TRACEAGENT_STEP_MARK": "nvtx:nothing", "TRACEAGENT_SCHEDULE": "wait=0"}, "faults: [{cupti_drops: {share: 0.05}}]",
                    ["CUPTI had no buffer for device records: raise device.buffers"]),
        "a small ring": ({"TRACEAGENT_RING_SIZE": "256KiB", "TRACEAGENT_SCHEDULE": "wait=0,warmup=2,active=12"}, "",
                         ["NO   losses"]),
    }
    for name, (options, script, parts) in gaps.items():
        with Place() as place:
            page = traced(place, script=script, **options)
            print(f"{name}:", *[line for line in page[1].splitlines() if "NO " in line], sep="\n  ")
            says(page, *parts, "Something was missed")
            checks.check(page[0] == 1, f"{name}: exit code {page[0]}")


def test_steps():
    """How they were found, and when: without a range of a step's name the schedule begins late."""
    with Place() as place:
        page = traced(place, [BUILD / "bin/train_demo", "--no-nvtx", "--steps", 60], TRACEAGENT_SCHEDULE="skip_first=2,wait=0,warmup=1,active=3")
        found = re.search(r"yes  steps +auto: period of \d+ \w+.*; 3 steps of \d+us here; the schedule began (\d+) steps late", page[1])
        checks.check(found is not None and 2 < int(found[1]) < 40, f"late: {page}")
    with Place() as place:
        page = traced(place, TRACEAGENT_STEP_MARK="nvtx:nothing")
        says(page, "no   steps                 none was found: ", "name them: step.mark nvtx:NAME", "A small no is what would help")
        checks.check("NO   steps" not in page[1], f"the beginning alone: {page}")


def test_shut_on_purpose():
    with Place() as place:
        page = traced(place, TRACEAGENT_DOORS_CUPTI="false", TRACEAGENT_DOORS_DRIVER="false")
        says(page, "no   door driver           shut: set doors.driver to true", "no   device times          not asked for")
        checks.check(page[0] == 0, f"what nobody wants is not missing: {page[1]}")


def test_counters_that_are_not_here():
    with Place() as place:
        traced(place)
        file = next((place.path / "job/traces").glob("*rank0.json"))
        # Whatever this machine has.
        text = re.sub(r'"counters": ?\{', '"counters":{"not_covered":["GPU 0 power: no permission"],', file.read_text())
        file.write_text(text)
        page = page_of(file)
        says(page, "no   counters              GPU 0 power: no permission\n")
        checks.check(page[0] == 0, f"not what the agent was asked for: {page[1]}")


def test_second_copy():
    with Place() as place:
        copy = place.path / "copy/libcudart.so.13"
        copy.parent.mkdir()
        shutil.copy(BUILD / "sim/lib/libcudart.so.13", copy)
        program = [sys.executable, "-c", TWO_COPIES, BUILD / "sim/lib/libcudart.so.13", copy]
        page = traced(place, program, TRACEAGENT_STEP_MARK="nvtx:nothing", TRACEAGENT_DOORS_CUPTI="false")
        says(page, f"NO   went round            {copy} is a second copy of a library")
        checks.check(page[0] == 1, f"exit code {page[0]}: {page[1]}")


def test_part():
    """Somebody chose: what is said of the ranks is not what lies in this file."""
    with Place() as place:
        traced(place)
        node, part = place.path / "job/traces/node0.json", place.path / "part.json"
        done = subprocess.run([TRACEAGENT, "merge", node, "-o", part, "--category", "kernel"], capture_output=True,
                              text=True, timeout=60)
        checks.check(done.returncode == 0, f"{done}")
        says(page_of(part), "yes  chosen", "events left out by who merged: category ")


def test_other_traces():
    """What they are, and who reads them."""
    event = '{"ph": "X", "ts": 1, "dur": 2, "pid": 0, "tid": 0, "name": "a", "cat": "kernel"}'
    with Place() as place:
        for name, text, what in (
                ("others.json", '{"schemaVersion": 1, "traceEvents": []}', "not a trace of TraceAgent's: {}: another program's"),
                ("torch.json", '{"schemaVersion": 1, "traceEvents": [' + event + "]}",
                 "not a trace of TraceAgent's: {}: another program's, which traceagent merge reads and check does not"),
                ("config.json", '{"a": 1}', "not a trace: {}: at byte 0: it holds no events"),
                ("empty.json", "", "an empty file: {}: at byte 0: give a trace in Chrome's JSON form")):
            path = place.path / name
            path.write_text(text)
            code, page, said = page_of(path)
            checks.check(code == 1 and what.format(path) in said and not page, f"{name}: {code} {said} {page}")
        traced(place)
        node = place.path / "job/traces/node0.json"
        node.write_text(" " + node.read_text())
        said = page_of(node)[2]
        checks.check(f"not a trace of TraceAgent's: {node} as it was written: " in said, f"ours, saved again: {said}")


for test in (test_nothing_missing, test_folder, test_folders_of_ranks, test_gaps, test_steps, test_shut_on_purpose, test_counters_that_are_not_here,
             test_second_copy, test_part, test_other_traces):
    if not (SANITIZED and test == test_second_copy):  # ctypes' calls are not seen in such a build
        test()
sys.exit(checks.end())
