"""Counters of the real GPUs beside what nvidia-smi says of them."""

import csv
import subprocess

from suite.case import Skip, case

MIB = 1 << 20
ASKED = ("index", "uuid", "pci.bus_id", "memory.total", "temperature.gpu", "clocks.max.sm", "power.limit")


def nvidia_smi():
    """[{what was asked: text}], one for each GPU."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Skip(f"nvidia-smi: {error}") from error
    if done.returncode != 0:
        raise Skip(f"nvidia-smi ended with {done.returncode}")
    return [dict(zip(ASKED, (cell.strip() for cell in row))) for row in csv.reader(done.stdout.splitlines()) if row]


def number(text):
    try:
        return float(text)
    except ValueError:  # [N/A]
        return None


def check_gpu(row, smi, values):
    """`values`: the samples of each of the GPU's counters."""
    row.check(values("memory bytes"), "no sample")
    for sample in values("memory bytes"):
        total = number(smi["memory.total"])
        row.check(total is None or abs(sample["total"] - total * MIB) <= 2 * MIB, f"memory {sample}, {smi}")
        row.check(0 < sample["used"] <= sample["total"], f"memory {sample}")
    for sample in values("temperature C"):
        row.check(abs(sample["gpu"] - (number(smi["temperature.gpu"]) or sample["gpu"])) <= 25, f"{sample}, {smi}")
    for sample in values("clocks MHz"):
        row.check(0 < sample["SM"] <= (number(smi["clocks.max.sm"]) or sample["SM"]), f"{sample}, {smi}")
    for sample in values("power W"):
        # Peaks may pass the limit for a moment.
        row.check(0 < sample["power"] <= 1.5 * (number(smi["power.limit"]) or sample["power"]), f"{sample}, {smi}")
    for sample in values("utilisation %"):
        row.check(0 <= sample["gpu"] <= 100 and 0 <= sample["memory"] <= 100, f"{sample}")


@case("counters of each GPU against nvidia-smi's: ids, memory, temperature, clocks, power")
def counters_of_gpus(bench):
    bench.need_gpu("NVML")
    smi = nvidia_smi()
    command = [bench.compiler.program("streams_and_threads")]
    _, traced, folder = bench.both(command, bench.cuda_variables(), TRACEAGENT_COUNTERS_INTERVAL="50ms")
    trace = bench.rank_file(folder)
    if trace is None:
        return
    told = trace.about[0].get("counters", {})
    ids = [(str(gpu["index"]), gpu["uuid"], gpu["pci"].lower()) for gpu in told.get("gpus", [])]
    wanted = [(gpu["index"], gpu["uuid"], gpu["pci.bus_id"].lower()) for gpu in smi]
    bench.row.check(ids == wanted, f"GPUs {ids}, nvidia-smi {wanted}, {told}, {traced.agent_lines()}")
    for gpu in smi:
        check_gpu(bench.row, gpu, lambda name, index=gpu["index"]: [
            event["args"] for event in trace.events if event["ph"] == "C" and event["name"] == f"GPU {index} {name}"])
    bench.row.figure("samples", str(told.get("samples", 0)))
    bench.row.figure("not covered", "; ".join(told.get("not_covered", [])) or "nothing")
