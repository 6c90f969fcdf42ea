#!/usr/bin/env python3
"""A small job's rank file is the committed one, but for times, ids and places: BUILD_FOLDER [--update]"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD, GOLDEN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).with_name("rank_file.json")
ENVIRONMENT = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{BUILD}/sim/lib", "TRACEAGENT_RUN_NAME": "run", "TRACEAGENT_QUIET": "1",
               "TRACEAGENT_SCHEDULE": "warmup=1,active=1,repeat=1",
               # Device times and counters have tests of their own; how many samples there are is the machine's.
               "TRACEAGENT_DOORS_CUPTI": "false", "TRACEAGENT_COUNTERS_SOURCES": "none"}
# What differs from run to run, and the options, which have a test of their own.
VARYING = [(r'"options": \{.*\}(?=, "coverage")', '"options": {}'), (r'("(?:ts|dur)":)[\d.]+', r"\1TIME"),
           (r'("(?:\w+_ns|begin_ticks|baseTimeNanoseconds|clock_sync_\w+|ns_per_\w+|heap_bytes|percent_of_window|busiest_thread_percent|own_threads_percent|anchors|ring_bytes)": ?)[\d.e+-]+', r"\1TIME"),
           # Functions found so far: the program goes on while its window is written.
           (r'("functions": )\d+', r"\1COUNT"),
           (r'("(?:version|host|run_key|ticks)": ?)"[^"]*"', r'\1"TEXT"'), (r'"labels":"[^"]*"', '"labels":"TEXT"'),
           (re.escape(str(BUILD)), "BUILD"), (r'("traceName": ")[^"]*/', r"\1FOLDER/")]


def with_placeholders(text):
    pid = re.search(r'"pid": (\d+)', text)[1]
    text = re.sub(rf"\b{pid}\b", "PID", text)
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    # Handles and correlations keep their identity: the first is 1, and so on.
    seen = {}
    return re.sub(r'0x[0-9a-f]+|(?<="correlation":)\d+',
                  lambda found: f"ID{seen.setdefault(found[0], len(seen) + 1)}", text)


with tempfile.TemporaryDirectory() as folder:
    program = [BUILD / "bin/traceagent-run", BUILD / "programs/step_data_parallel", "--steps", "3"]
    subprocess.run(program, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    text = with_placeholders((pathlib.Path(folder) / "run/traces/ep0-ba2-rank0.json").read_text())
if sys.argv[2:] == ["--update"]:
    GOLDEN.write_text(text)
difference = list(difflib.unified_diff(GOLDEN.read_text().splitlines(), text.splitlines(), "golden", "written", lineterm=""))
print(*difference, sep="\n")
sys.exit(1 if difference else 0)
