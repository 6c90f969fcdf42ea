#!/usr/bin/env python3
"""What tests/gpu/run judges by, on traces made by hand: each check must be able to fail."""
import collections
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import types

from places import BUILD, SOURCE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from suite import kept, kernel_counts, rings, runner, table
from suite.bench import Bench
from suite.case import Case, Row
from suite.machine import Machine
from suite.places import Agent
from suite.trace import Trace

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def kernel(ts, dur, correlation, name="k", tid=7):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": correlation}}


def call(ts, correlation, tid=1):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 0, "tid": tid, "ts": ts,
            "dur": 1, "args": {"correlation": correlation}}


def arrow(begin, end, number, tid=1, to_tid=7):
    return [{"ph": "s", "cat": "ac2g", "id": number, "pid": 0, "tid": tid, "ts": begin},
            {"ph": "f", "cat": "ac2g", "id": number, "pid": 0, "tid": to_tid, "ts": end, "bp": "e"}]


def step(number, ts, dur):
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 0, "tid": 0, "ts": ts,
            "dur": dur, "args": {}}


def trace_of(*events):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"traceEvents": list(events), "traceagent": {"dropped": {"ring_full": 2}}}, file)
        file.flush()
        return Trace(file.name)


def test_trace():
    good = trace_of(step(4, 0, 100), step(5, 100, 100), call(10, 1), kernel(20, 30, 1), *arrow(10.5, 20, 1),
                    call(90, 2), kernel(110, 20, 2), *arrow(90, 110, 2), kernel(115, 5, 3, "other", tid=8),
                    call(105, 3, tid=2), *arrow(105, 115, 3, tid=2, to_tid=8))
    check(list(good.device_problems()) == [], f"problems of a good trace: {list(good.device_problems())}")
    check(good.kernels_by_step() == [{"k": 2}, {"other": 1}], f"kernels by step {good.kernels_by_step()}")
    check(good.busy_us() == 50, f"busy {good.busy_us()}")
    check(good.dropped() == {"ring_full": 2}, f"dropped {good.dropped()}")
    lonely = trace_of(call(10, 1), kernel(20, 30, 1))
    check(len(list(lonely.device_problems())) == 1, "a kernel without an arrow is found")
    astray = trace_of(call(10, 1), kernel(20, 30, 1), *arrow(15, 20, 1))
    check(len(list(astray.device_problems())) == 1, "an arrow out of no call is found")
    tied = [event for i in range(10) for event in (call(100 + 10 * i, 2 + i), kernel(105 + 10 * i, 2, 2 + i),
                                                   *arrow(100 + 10 * i, 105 + 10 * i, 2 + i))]
    early = trace_of(call(10, 1), kernel(9.5, 30, 1), *tied)
    check(list(early.device_problems()) == [], f"no arrow back in time: {list(early.device_problems())}")
    check(early.early_work() == [0.5], f"work before its call is counted: {early.early_work()}")
    check(len(list(trace_of(call(10, 1), kernel(9.5, 30, 1)).device_problems())) == 1, "clocks that disagree are found")
    both = [call(10, 1), *arrow(10, 20, 1), call(12, 2), *arrow(12, 40, 2), kernel(20, 30, 1)]
    check(len(list(trace_of(*both, kernel(40, 5, 2)).device_problems())) == 1, "nested work on a lane is found")
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 1,
            "dur": 1, "args": {"bytes": 96}}
    check(trace_of(copy, copy).copies() == {"copy HtoD": (2, 192)}, "copies are summed")


def compared(ours, theirs, version):
    row = Row()
    kernel_counts.compare_steps(row, [collections.Counter(ours)], [collections.Counter(theirs)], lambda: version)
    return len(row.problems), len(row.notes)


def test_kernel_counts():
    """torch.profiler's own faults are told apart from ours."""
    mangled, words = "_Z" + "N" * 2000, "void kernel<" + "n, " * 700 + ">"
    for ours, theirs, version, wanted, what in (
            ({"a": 2}, {"a": 2}, 130000, (0, 0), "equal"),
            ({"a": 2, "b": 1}, {"a": 1, "b": 1}, 130000, (0, 1), "lost by torch.profiler, old CUPTI"),
            ({"a": 2, "b": 1}, {"a": 1, "b": 1}, 130100, (1, 0), "lost by torch.profiler, new CUPTI"),
            ({"a": 2, "b": 1}, {"a": 1, "b": 1}, None, (1, 0), "lost by torch.profiler, unknown CUPTI"),
            ({"a": 1}, {"a": 2}, 130000, (1, 0), "lost by us"),
            ({"a": 1, "b": 1}, {"a": 2}, 130000, (1, 0), "another kernel"),
            ({"a": 1, words: 3}, {"a": 1, mangled: 3}, 130100, (0, 1), "a name too long"),
            ({"a": 1, mangled: 3}, {"a": 1, words: 3}, 130100, (0, 1), "a name too long for us"),
            ({"a": 1, words: 2}, {"a": 1, mangled: 3}, 130100, (1, 1), "lost by us, of a name too long"),
            ({"a": 1, words: 4}, {"a": 1, mangled: 3}, 130000, (0, 2), "lost by torch.profiler, of a name too long")):
        found = compared(ours, theirs, version)
        check(found == wanted, f"kernels {what}: {found[0]} problems, {found[1]} notes")


def row_of(words, limit_s, **more):
    with tempfile.TemporaryDirectory() as folder:
        case = Case("made_up", "", None, limit_s, False, False, ())
        running = runner.Running(case, pathlib.Path(folder) / "case", words, limit_s, **more)
        row = None
        while row is None:
            time.sleep(0.02)
            row = running.row()
        return row


def test_runner():
    died = row_of(["sh", "-c", "echo last words; exit 3"], 20)
    check(died["state"] == "FAILED" and "last words" in died["problems"][0], f"a case that died: {died}")
    begin = time.monotonic()
    hung = row_of(["sh", "-c", "sleep 60 & sleep 60"], 1)
    check(hung["state"] == "FAILED" and "1 s" in hung["problems"][0], f"a case that hung: {hung}")
    check(time.monotonic() - begin < 30, "a case that hung is ended with what it started")
    cut = row_of(["sh", "-c", "sleep 60"], 1, cut_short=True)
    check(cut["state"] == "not run" and "1 s" in cut["notes"][0], f"a case that the budget ended: {cut}")


def test_budget():
    """Its time begins with the command: here a PyTorch that takes three seconds of thirteen."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "torch.py").write_text("import time; time.sleep(3)")
        results = folder / "results.json"
        command = [sys.executable, SOURCE / "tests/gpu/run", "--simulate", BUILD, "--only", "cupti_offsets",
                   "--budget", "13", "--results", results]
        done = subprocess.run([str(word) for word in command], env=os.environ | {"PYTHONPATH": name},
                              capture_output=True, text=True)
        rows = json.loads(results.read_text())["rows"] if results.exists() else {}
        check(rows.get("cupti_offsets", {}).get("state") == "not run", f"{rows}, {done.stderr}")


def test_order():
    """--only keeps its order, --rest runs what failed after what nobody has tried."""
    with tempfile.TemporaryDirectory() as name:
        results = pathlib.Path(name) / "results.json"
        wanted = ["streams", "nccl_abort", "pool_and_copies", "cupti_offsets"]
        table.save(results, {"machine": {}, "rows": {"streams": runner.empty_row("FAILED"),
                                                      "pool_and_copies": runner.empty_row("passed")}})
        command = [sys.executable, SOURCE / "tests/gpu/run", "--simulate", BUILD, "--only", ",".join(wanted),
                   "--budget", "0", "--results", results, "--rest"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        named = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("not run") and "(0 s)" in line]
        states = {row: found["state"] for row, found in table.load(results)["rows"].items()}
        check(states["streams"] == "FAILED", f"what failed and had no time now has still failed: {states}")
        check(named == ["nccl_abort", "cupti_offsets", "streams"], f"order {named}, {done.stdout}, {done.stderr}")


def kept_in(path):
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def test_kept():
    """One file for all failed cases, of several calls too."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file, left = folder / "out/failed.tar.gz", folder / "left"
        (left / "1-bare").mkdir(parents=True)
        (left / "1-bare/stderr.txt").write_text("first")
        said = [kept.Kept(file).add("one", left), kept.Kept(file).add("two", left)]
        (left / "1-bare/stderr.txt").write_text("again")
        said.append(kept.Kept(file).add("one", left))
        wanted = {"two/1-bare/stderr.txt": b"first", "one/1-bare/stderr.txt": b"again"}
        check(kept_in(file) == wanted and said == ["", "", ""], f"kept: {kept_in(file)}, {said}")
        (left / "ring").write_bytes(bytes(kept.MOST_OF_A_CASE_BYTES))
        check("1-bare" not in (said := kept.Kept(file).add("one", left)) and "ring" in said, f"too large: {said!r}")
        check(kept_in(file) == wanted, f"a file too large is left out: {kept_in(file).keys()}")
        kept.MOST_BYTES = 10
        check("no room" in kept.Kept(file).add("three", left), "an archive that grows too large is told of")
        check(kept_in(file) == wanted, f"and stays as it was: {kept_in(file).keys()}")
        file.write_text("no archive")
        kept.MOST_BYTES = 1 << 20
        check("not kept" in kept.Kept(file).add("four", left), "a file that is no archive ends nothing")
        file.with_name(f".{file.name}.part").unlink()
        check(os.listdir(file.parent) == [file.name], f"left behind: {os.listdir(file.parent)}")


def test_agent():
    """A library that the loader refuses is no agent to test."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "lib").mkdir()
        (folder / "lib/libtraceagent.so").write_text("no library")
        (folder / "bin").symlink_to(BUILD / "bin")
        check("cannot be preloaded" in Agent(folder).problem(), f"a library that is none: {Agent(folder).problem()!r}")
    check(Agent(BUILD).problem() == "", f"the agent of this build: {Agent(BUILD).problem()}")


def test_rings():
    """Where /dev/shm is too small for all rings of the cases beside each other, they lie elsewhere, and that is said."""
    machine = types.SimpleNamespace(simulate=None, has_unsafe_cupti=False)
    with tempfile.TemporaryDirectory() as name:
        for beside in (False, True):
            bench = Bench(machine, Agent(BUILD), None, name, beside)
            found = bench.traced({}, bench.new_folder(f"beside-{beside}")).get("TRACEAGENT_RING_FOLDER")
            check((found is not None and os.path.isdir(found)) == beside, f"rings in {found}, beside: {beside}")
    sizes = [rings.in_shared_memory(ring_mib, 3) for ring_mib in (0, 1 << 30)]
    check(sizes[0][0] and not sizes[1][0] and "beside the traces" in sizes[1][1], f"room {sizes}")


def test_machine():
    """The versions of all CUPTIs: here the simulated one and that of the toolkit's headers."""
    facts = Machine(BUILD).facts()
    check("130001, " in facts["CUPTI"] and "sim/cupti/libcupti.so.13" in facts["CUPTI"], f"{facts}")


def test_unsafe_cupti():
    """The agent leaves that of CUDA 13.0 alone: the suite, which is there to see it, does not."""
    check(not Machine(BUILD).has_unsafe_cupti, "the simulated one is unsafe")
    with tempfile.TemporaryDirectory() as name:
        for is_unsafe in (False, True):
            bench = Bench(types.SimpleNamespace(simulate=None, has_unsafe_cupti=is_unsafe), Agent(BUILD), None, name, False)
            variables = bench.traced({}, bench.new_folder(f"unsafe-{is_unsafe}"))
            check(("TRACEAGENT_DEVICE_UNSAFE_CUPTI" in variables) == is_unsafe, f"{is_unsafe}: {variables}")


def test_table():
    row = Row()
    row.figure("kernels", "3 of 4")
    row.check(False, "a | b\nc")
    rows = {"one": {"state": "FAILED", "seconds": 1.0, "figures": row.figures, "notes": ["n"], "problems": row.problems}}
    page = table.markdown({"machine": {"GPU": "x", "driver": "1"}, "rows": rows})
    check("| one | FAILED | kernels 3 of 4; n; **a \\| b c** |" in page, page)
    check(page.startswith("# What a real GPU showed"), page)
    check("1 FAILED" in table.text(rows) and "! a | b c" in table.text(rows), table.text(rows))


def test_ends():
    """torch_train.py, without PyTorch: work of the last step has GPU_SETTLE_S to be told before a kill."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu/programs"))
    stand_in = types.SimpleNamespace(Mlp=None, Tokens=None, Transformer=None, triton_scale=None)
    sys.modules |= {"torch": stand_in, "torch_models": stand_in}
    import torch_train

    done = []
    torch_train.time = types.SimpleNamespace(sleep=lambda seconds: done.append("settle"))
    torch_train.end_by = lambda how: done.append(f"end by {how}")
    training = types.SimpleNamespace(marked=contextlib.nullcontext, synchronize=lambda: None,
                                     step=lambda: done.append("step") or 1.0)
    for how in ("SIGKILL", "SIGTERM", "os._exit"):
        done.clear()
        with contextlib.redirect_stdout(io.StringIO()):
            torch_train.run_steps(training, None, types.SimpleNamespace(steps=4, settle_in_steps=[0], end=how))
        check(done == ["step", "settle", "step", "step", "settle", f"end by {how}", "step"], f"{how}: {done}")


for test in (test_trace, test_kernel_counts, test_runner, test_budget, test_order, test_agent, test_kept, test_rings, test_machine, test_unsafe_cupti, test_table, test_ends):
    test()
print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
