"""Files made by hand for `traceagent merge`, and what its tests ask of it."""
import faulthandler
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

from merge_model import File
from places import BUILD, need

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
BASE = 1_700_000_000_000_000_000
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def merge(*words, code=0, cwd=None, zone="UTC"):
    variables = {key: value for key, value in os.environ.items() if not key.startswith("TRACEAGENT_")}
    result = subprocess.run([str(word) for word in (TRACEAGENT, "merge", *words)], capture_output=True, text=True,
                            env=variables | {"TZ": zone}, stdin=subprocess.DEVNULL, timeout=60, cwd=cwd)
    check(code in (None, result.returncode) and "terminate" not in result.stderr, f"merge {words}: {result}")
    return result


def rank_file(path, rank, node=0, times=(0,), base=BASE, compress=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [{"ts": ts, "dur": 10, "ph": "X", "cat": "c", "name": f"e{ts}", "pid": rank, "tid": 1, "args": {}}
              for ts in times]
    return File(path, rank, base, events, node).write(compress)


def document_of(path):
    text = path.read_bytes()
    return json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)


def ranks_in(path):
    return document_of(path)["distributedInfo"].get("ranks")


def composer_file(path, rank, off_ns=0, node=None):
    """Composer's marks and an event: `off_ns` is how far the clock is ahead. With a node it is a file of ours."""
    marks = [("clock_sync_timestamp_us", (BASE + 500_000 + off_ns) // 1000), ("clock_sync_error_bound", 12)]
    rows = [{"ph": "M", "name": name, "pid": rank, "tid": 1, "args": {"value": value}} for name, value in marks]
    if node is None:
        event = {"name": f"of{rank}", "cat": "c", "ph": "X", "dur": 5, "pid": rank, "tid": 1,
                 "ts": (BASE + 2_000_000 + off_ns) // 1000, "args": {}}
        head = {"name": "global_rank", "ph": "M", "tid": 1, "pid": rank, "args": {"value": rank}, "ts": 1}
        path.write_text(json.dumps([head, *({**row, "ts": 1} for row in rows), event]))
        return path
    rank_file(path, rank, node, times=(2_000_000,), base=BASE + off_ns)
    text = "".join(json.dumps(row, separators=(",", ":")) + ",\n" for row in rows)
    path.write_text(path.read_text().replace('"traceEvents": [\n', '"traceEvents": [\n' + text))
    return path


def pytorch_file(path, rank, times=range(10)):
    events = [{"ph": "X", "cat": "kernel", "name": f"k{us}", "pid": 4000, "tid": 7, "ts": us + 0.5, "dur": 1.25, "args": {}}
              for us in times]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                                "baseTimeNanoseconds": BASE, "traceEvents": events}, indent=0))
    return path


def sagemaker_file(path, times=range(10)):
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"ph": "M", "name": "process_name", "pid": 0,
            "args": {"name": "Step:ModeKeys.TRAIN", "start_time_since_epoch_in_micros": BASE // 1000}}
    events = [{"ph": "X", "name": f"s{us}", "pid": 0, "tid": 1, "ts": us, "dur": 1, "args": {}} for us in times]
    path.write_text("[\n" + ",\n".join(json.dumps(each) for each in (head, *events)) + "\n]")
    return path


def absolute_times(path):
    document = document_of(path)
    return [document["baseTimeNanoseconds"] + round(event["ts"] * 1000)
            for event in document["traceEvents"] if event["ph"] == "X"]


def run(tests):
    """Those of a test's globals() whose names begin with test_, each in a folder of its own; the exit status."""
    faulthandler.dump_traceback_later(100, exit=True)  # says where it hangs, before ctest ends it
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name, test in list(tests.items()):
            if name.startswith("test_"):
                (folder / name).mkdir()
                test(folder / name)
    print("ok" if not failures else f"{len(failures)} failed")
    return 1 if failures else 0
