"""Two ranks on one GPU: NCCL refuses that unless each names another host (NCCL_HOSTID)."""

import collections
import shutil
import uuid

from suite.case import EXAMPLE, Skip, case
from suite.trace import Trace, rank_files

PER_STEP = 5
STEPS = 2
# function, type: how many in the two recorded steps, on each rank
WANTED = {("ncclAllReduce", "Float"): 10, ("ncclAllGather", "Float"): 10, ("ncclReduceScatter", "Float"): 10,
          ("ncclBroadcast", "BFloat16"): 10, ("ncclSend", "Float"): 10, ("ncclRecv", "Float"): 10,
          ("ncclAllReduce", "Half"): 10}


def rank_variables(bench, rank, run, shared_memory=True):
    return bench.cuda_variables(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=2, LOCAL_WORLD_SIZE=2, GROUP_RANK=0,
                                NCCL_HOSTID=f"{run}-{rank}", MASTER_ADDR="127.0.0.1", TORCHELASTIC_RUN_ID=run,
                                NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE=1)


def run_pair(bench, command_of, traced, **options):
    """Both ranks at once; ([ended], folder)."""
    folder, run = bench.new_folder("traced" if traced else "bare"), uuid.uuid4().hex[:8]
    processes = []
    for rank in range(2):
        variables = rank_variables(bench, rank, run)
        if traced:
            variables = bench.traced(variables, folder, **options)
        processes.append(bench.start(command_of(folder), variables, folder))
    return [bench.end_of(process) for process in processes], folder


def collectives_of(trace):
    """{communicator's hash: [(function, count, type, sequence, peer or root), ...] in order}"""
    found = collections.defaultdict(list)
    for event in sorted(trace.of("nccl"), key=lambda event: event["ts"]):
        args = event["args"]
        if "Seq" in args:
            found[args.get("comm hash")].append((event["name"], args))
    return found


def check_pair(bench, traces):
    """Operation, count, type, sequence and communicator agree between the two ranks."""
    left, right = (collectives_of(trace) for trace in traces)
    row = bench.row
    row.check(set(left) == set(right) and len(left) == 2, f"communicators {sorted(left)} and {sorted(right)}")
    agreed = 0
    for comm in set(left) & set(right):
        mine = [signature(name, args) for name, args in left[comm] if name not in ("ncclSend", "ncclRecv")]
        theirs = [signature(name, args) for name, args in right[comm] if name not in ("ncclSend", "ncclRecv")]
        row.check(mine == theirs, f"comm {comm}: {first_difference(mine, theirs)}")
        agreed += len(mine)
    row.figure("collectives equal on both ranks", agreed)
    for rank, found in enumerate((left, right)):
        counted = collections.Counter((name, args.get("dtype")) for events in found.values() for name, args in events)
        row.check(counted == WANTED, f"rank {rank}: {dict(counted)}")


def signature(name, args):
    return (name, *(args.get(key) for key in ("In msg nelems", "Out msg nelems", "dtype", "Seq", "Group size")))


def first_difference(mine, theirs):
    pairs = [(a, b) for a, b in zip(mine, theirs) if a != b]
    return f"{len(mine)} and {len(theirs)}, first difference {pairs[:1]}"


def check_kernels(bench, trace, rank):
    """Each NCCL kernel's arrow starts in or under an NCCL call; it carries that call's arguments."""
    kernels = [event for event in trace.of("kernel") if event["name"].startswith("nccl")]
    calls = [event for event in trace.of("nccl")]
    row = bench.row
    row.check(kernels, f"rank {rank}: no NCCL kernel")
    launches = trace.launches
    named = inside = 0
    for kernel in kernels:
        launch = launches.get(kernel["args"].get("correlation"))
        inside += launch is not None and any(
            call["tid"] == launch["tid"] and call["ts"] <= launch["ts"] < call["ts"] + call["dur"] + 0.001
            for call in calls)
        # One kernel for several operations of a group says how many.
        named += "Collective name" in kernel["args"] or "grouped" in kernel["args"]
    row.check(inside == len(kernels), f"rank {rank}: {inside} of {len(kernels)} NCCL kernels launched in an NCCL call")
    row.check(named == len(kernels), f"rank {rank}: {named} of {len(kernels)} NCCL kernels name their collective")
    row.figure(f"NCCL kernels of rank {rank}", len(kernels))


def compare(bench, *words):
    program = bench.compiler.program("nccl_two_ranks")
    bare, _ = run_pair(bench, lambda folder: [program, folder / "id", *words], traced=False)
    if any("Duplicate GPU" in ended.err for ended in bare):
        raise Skip("this NCCL refuses two ranks on one GPU whatever NCCL_HOSTID says")
    traced, folder = run_pair(bench, lambda folder: [program, folder / "id", *words], traced=True)
    for rank in range(2):
        bench.row.check(bare[rank].code == 0, f"rank {rank} bare: {bare[rank]}")
        bench.same(bare[rank], traced[rank])
    traces = [bench.rank_file(folder, rank) for rank in range(2)]
    if all(traces):
        check_pair(bench, traces)
        for rank, trace in enumerate(traces):
            if bench.check_trace(trace):
                check_kernels(bench, trace, rank)
    return folder


@case("two ranks, one GPU, C++: six operations on two communicators", limit_s=120, quick=True)
def nccl_two_ranks(bench):
    folder = compare(bench)
    node = [path for path in (folder / "traces").glob("node*.json")]
    if bench.row.check(len(node) == 1, f"node files: {node}"):
        ranks = {event["pid"] for event in Trace(node[0]).slices}
        bench.row.check(ranks == {0, 1}, f"the node file holds ranks {ranks}")


@case("the same, ended by ncclCommAbort", limit_s=120)
def nccl_abort(bench):
    compare(bench, "abort")


def run_torch(bench, program):
    """Both ranks bare and traced, which nobody can tell apart; the traced run's folder."""
    command = bench.python(program)
    bare, _ = run_pair(bench, lambda folder: [*command, folder / "store"], traced=False)
    traced, folder = run_pair(bench, lambda folder: [*command, folder / "store"], traced=True)
    for rank in range(2):
        bench.row.check(bare[rank].code == 0, f"rank {rank} bare: {bare[rank]}")
        bench.same(bare[rank], traced[rank])
    return folder


@case("two ranks, one GPU, torch.distributed", limit_s=150, needs=("torch",))
def nccl_torch(bench):
    bench.need_gpu("torch.distributed over NCCL")
    folder = run_torch(bench, "torch_two_ranks.py")
    files = rank_files(folder / "traces")
    bench.row.check(len(files) == 2, f"{[path.name for path in files]}, not two files")
    for rank, path in enumerate(files):
        trace = Trace(path)
        seen = collections.Counter(event["name"] for event in trace.of("nccl") if "Seq" in event["args"])
        bench.row.figure(f"rank {rank}", dict(seen))
        # PyTorch broadcasts in place.
        for name in ("ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBcast"):
            bench.row.check(seen[name] > 0, f"rank {rank}: no {name}")
        if bench.check_trace(trace):
            check_kernels(bench, trace, rank)


@case("two ranks, one GPU, DistributedDataParallel: the README's picture", limit_s=150, needs=("torch",))
def nccl_ddp(bench):
    bench.need_gpu("torch.distributed over NCCL")
    folder = run_torch(bench, "torch_ddp.py")
    for rank in range(2):
        trace = bench.rank_file(folder, rank)
        if trace is not None and bench.check_trace(trace):
            check_kernels(bench, trace, rank)
            bench.row.figure(f"kernels of rank {rank}", sum(trace.kernels().values()))
    node = folder / "traces/node0.json"
    if bench.row.check(node.exists(), "no node file"):
        shutil.copy(node, bench.folder / EXAMPLE)
