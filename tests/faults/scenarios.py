"""What is run with faults: the small job in several settings, and the tool on what a job left."""

import atexit
import dataclasses
import fcntl
import functools
import gzip
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import targets
import true_counters
from fault_job import FAULTS, Place
from places import BUILD, LIBRARY
from uploads import remote_options

JOB = BUILD / "programs/small_job"
JOB_12 = BUILD / "programs/small_job_12"
OPENS_JOB = BUILD / "programs/opens_job"
TOOL = BUILD / "bin/traceagent"
RUN = BUILD / "bin/traceagent-run"
MPIRUN = BUILD / "bin/traceagent-mpirun"
UPLOADER = BUILD / "bin/traceagent-upload"
# Each synchronization begins a step: two windows of two steps.
OPTIONS = {"TRACEAGENT_RUN_NAME": "job", "TRACEAGENT_OUTPUT_FOLDER": "out",
           "TRACEAGENT_STEP_MARK": "call:cudaDeviceSynchronize",
           "TRACEAGENT_SCHEDULE": "wait=1,warmup=1,active=2,repeat=2", "TRACEAGENT_RING_SIZE": "2MiB",
           "TRACEAGENT_EXIT_TIMEOUT": "3s", "TRACEAGENT_MERGE_TIMEOUT": "3s"}
# The same as a file; its place in the environment of the run.
OPTIONS_FILE = "options.yaml"
OPTIONS_TEXT = """run_name: job
output: {folder: out}
step: {mark: "call:cudaDeviceSynchronize"}
schedule: {wait: 1, warmup: 1, active: 2, repeat: 2}
ring: {size: 2MiB}
exit: {timeout: 3s}
merge: {timeout: 3s}
"""
# Each in its own way: a file, a name of its own, any option.
START = ["--config", OPTIONS_FILE, "--output", "out/here", "--set", "merge.timeout=4s", "--", JOB]
# A launcher that is soon done: one rank, and that is the launcher itself.
LAUNCHER = "mpirun"
LAUNCHER_TEXT = """#!/bin/sh
[ "$1" = --version ] && echo HYDRA && exit
while [ "$1" = -genv ]; do export "$2=$3"; shift 3; done
exec "$@"
"""
# One window, long enough for rates, with the child in it.
ONE_WINDOW = "wait=1,warmup=1,active=7,repeat=1"
# One of these: dies when the file of its second window is whole and has no name yet. How many files the child, the
# first window and the index have brought there before depends on the machine.
KILLED_AT_THE_END = [f"renameat2#{number}=kill" for number in (4, 3, 5)]
OTHERS_EVENTS = 3000  # each: more than a run that is sorted in memory
HALF_A_NAME = "/somewhere/ep"
NAMELESS = ".ep0-ba8-rank0.json.tmp-*"
# A file system that cannot name a file where there is none, or not even link it; and a ring's first size is refused.
WITHOUT_RENAME = "renameat2#1+=EINVAL,posix_fallocate#1=ENOSPC"
WITHOUT_LINKS = "renameat2#1+=EINVAL,link#1+=EPERM"
# Memory for one ring alone: the child has none in the folder.
ONE_RING = "posix_fallocate#2+=ENOSPC"
NOWHERE = {"TRACEAGENT_OUTPUT_KEEP": "0", "TRACEAGENT_OUTPUT_REMOTE": "exec:false {}", "TRACEAGENT_UPLOAD_QUEUE": "1",
           "TRACEAGENT_UPLOAD_PATIENCE": "0s"}
# One node of two, which share a folder: a run of the same name and key whenever it comes again.
SHARED = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 1, "GROUP_RANK": 0,
          "TORCHELASTIC_RUN_ID": "one", "TRACEAGENT_OUTPUT_MERGED": "all.json", "TRACEAGENT_OUTPUT_OVERWRITE": "true"}
ZIPPED = {"TRACEAGENT_OUTPUT_GZIP": "true", "TRACEAGENT_OUTPUT_OVERWRITE": "true"}
INCLUDE = {"TRACEAGENT_MERGE_INCLUDE": "../others_*"}
# More files than a few, of which some are removed.
MANY_FILES = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1,repeat=7", "TRACEAGENT_OUTPUT_KEEP": "5"}
ONE_NAME = {"TRACEAGENT_OUTPUT_OVERWRITE": "true", "TRACEAGENT_OUTPUT_FILENAME": "rank{rank}.json"}
# Two containers of one node: each sees its own rank alone, and the other's files.
CONTAINER = {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "one",
             "TRACEAGENT_MERGE_TIMEOUT": "300ms", "TRACEAGENT_OUTPUT_KEEP": "5"}
# Rank zero waits so long for the other one; meanwhile somebody else ends the process too.
WAITING_ZERO = CONTAINER | {"RANK": 0, "LOCAL_RANK": 0}
NO_OTHER = "|nothing from (local )?ranks?"
# A ring of another run, which is old at once.
OLD_AT_ONCE = {"TRACEAGENT_RING_KEEP_DEAD": "1ms"}
# Of eight nodes the last; the same run comes again with two.
EIGHTH_NODE = {"RANK": 7, "GROUP_RANK": 7, "WORLD_SIZE": 8}
# NCCL's settings are looked into; the driver's tool is the user's, and comes behind ours.
USERS_TOOL = {"CUDA_INJECTION64_PATH": BUILD / "programs/libusers_injection.so"}
BY_INJECTION = {"TRACEAGENT_DOORS_DLSYM": "false", "TRACEAGENT_DOORS_CUPTI": "false", "NCCL_CONF_FILE": "nccl.conf"}
FULL_DISK = {"TRACEAGENT_SCHEDULE": "wait=0,warmup=0,active=1,repeat=7", "TRACEAGENT_OUTPUT_KEEP": "100",
             "TRACEAGENT_BUDGET_DISK": "60KiB"}
HELD_S = 0.3
HELD_TOO_LONG_S = 2.6  # the agent waits for 2 s
# CUPTI of CUDA 12.4, which may not be refused a buffer, asks for more than there are.
SCRIPT = "script.yaml"
MORE_BUFFERS = {"TRACEAGENT_DEVICE_BUFFERS": "1MiB", "SIMGPU_SCRIPT": SCRIPT}
SCRIPT_TEXT = "faults: [{cupti_buffers_at_once: {count: 20}}]\n"
# Without faults too.
SAID_ANYWAY = "no step was found|still runs: it will be added"
PATIENCE = ["--patience", "1s"]
LOG = "said.log"
UPLOADS_S = 20
ITS_RINGS = object()  # in a command: the folder of the dead job's rings
WITHOUT_CUPTI = {"LD_LIBRARY_PATH": f"{BUILD}/sim/lib:{BUILD}/programs", "TRACEAGENT_DEVICE_TIME_LAUNCHES": "true"}


@functools.cache
def traces_of_a_job():
    """Of one that ended well; the same for all."""
    kept = tempfile.mkdtemp(prefix="traceagent-faults-")
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    with Place() as place:
        ended = place.run([JOB], **OPTIONS)
        if ended.code != 3:
            sys.exit(f"FAILED: the job without faults: {ended.code} {ended.err}")
        return shutil.copytree(place.path / "out", f"{kept}/out")


@functools.cache
def others_traces():
    """Name → bytes. Of rank 0 an array in order, of rank 1 an object without any order, compressed."""
    slices = [[{"name": f"part {i}", "ph": "X", "ts": 10 * i, "dur": 5, "pid": rank, "tid": 1,
                "cat": "user_annotation"} for i in range(OTHERS_EVENTS)] for rank in (0, 1)]
    return {"others_rank0.json": json.dumps(slices[0]).encode(),
            "others_rank1.json.gz": gzip.compress(json.dumps({"traceEvents": slices[1][::-1]}).encode())}


def run_before(place, command, options, faults=""):
    """Another process, of which the job finds what it left."""
    place.run(command, faults=faults, **OPTIONS | options)
    place.end_keepers(UPLOADS_S)
    place.table.unlink()
    for name in place.path.glob("own*"):
        name.unlink()


def leave_rank_zero(place, remote):
    """Ended well, in another container and with a journal of another host."""
    run_before(place, [JOB], WAITING_ZERO | remote)
    for journal in (place.path / "out/.traceagent-upload").glob("*.journal"):
        journal.rename(journal.with_name("elsewhere.journal"))


def leave_damaged_files(place, _remote):
    """Compressed, of the node's other rank: bytes within are others."""
    run_before(place, [JOB], WAITING_ZERO | ZIPPED)
    place.damaged = list((place.path / "out").glob("ep*.gz"))
    for file in place.damaged:
        data = bytearray(file.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 8] = b"damaged!"
        file.write_bytes(data)


def leave_old_run(place, _remote):
    run_before(place, [JOB, "terminated"], {"TRACEAGENT_RUN_NAME": "older", "TRACEAGENT_OUTPUT_FOLDER": "older"})
    shutil.rmtree(place.path / "older")
    place.older = [path for path in place.rings.rglob("*") if path.is_file()]
    place.older_go = True


def leave_young_run(place, _remote):
    """Killed just now: what its rings have not used goes, and nothing that they hold."""
    run_before(place, [JOB, "terminated"], {"TRACEAGENT_RUN_NAME": "younger", "TRACEAGENT_OUTPUT_FOLDER": "younger"})
    shutil.rmtree(place.path / "younger", ignore_errors=True)
    place.older = [path for path in place.rings.rglob("*") if path.is_file()]
    place.keep_in_mind()


def leave_claim(place, _remote):
    """Of a node that died over its merge, and is none of this run's."""
    run_before(place, [JOB], SHARED | EIGHTH_NODE, "symlink#1=kill_after")
    place.older = [path for path in place.rings.rglob("*") if path.is_file()]


def leave_settings(place, _remote):
    (place.path / "nccl.conf").write_text("# nothing of ours\nNCCL_DEBUG=WARN\n")


def leave_script(place, _remote):
    (place.path / SCRIPT).write_text(SCRIPT_TEXT)


def hold_locks(place, _remote, held_s=HELD_S):
    """As another process of the node does that removes files, and one that puts a shorter journal in its place."""
    folder = place.path / "out/.traceagent-upload"
    folder.mkdir(parents=True)
    held = [(folder / name).open("w") for name in ("keep.lock", f"{socket.gethostname()}.journal")]
    for file in held:
        fcntl.lockf(file, fcntl.LOCK_EX)
    threading.Timer(held_s, lambda: [file.close() for file in held]).start()


@dataclasses.dataclass
class Scenario:
    name: str
    command: list
    object: object  # whose calls fail
    options: dict = dataclasses.field(default_factory=dict)
    faults: str = ""  # what goes wrong anyway
    before: list = None  # of a tool: faults, one at a time, of the job whose traces it finds, or none
    processes: int = 2  # that the agent is in
    has_file: bool = False  # of options
    keeps: bool = False  # a process that is to end after the job
    uploads: bool = False
    removes: bool = False  # files of its own: where something goes wrong there may be more
    may_keep: bool = False  # more of them than without faults
    others: bool = False  # traces that another program wrote
    comes_again: bool = False  # the same job was killed before
    prepare: object = None  # called with the place and the options of uploads: leaves what the job finds
    surroundings: dict = dataclasses.field(default_factory=dict)  # the job's, also without the agent
    lacks_a_rank: str = None  # files that match: without faults too, or before the job
    has_terminal: bool = False
    is_sparse: bool = False  # the rings have been copied by what leaves holes
    starts: list = None  # of a tool: the job that it becomes, whose own calls do not fail
    leaves_rings: bool = False  # to whoever recovers them
    says: str = SAID_ANYWAY
    remote: object = targets.Folder()  # where to, by hand

    @property
    def made(self):
        """The file that the tool is told to make, or None."""
        made = next((word for word in map(str, self.command) if word.startswith("merged")), None)
        return f"{made}/node0.json" if "--per-node" in self.command else made

    @property
    def is_tool(self):
        return self.object != LIBRARY and not self.starts

    def run(self, place, faults=""):
        faults = ",".join(filter(None, [faults, self.faults]))
        if self.has_file:
            (place.path / OPTIONS_FILE).write_text(OPTIONS_TEXT)
        if self.starts:
            return self.start(place, faults)
        if self.has_file:
            return place.run(self.command, faults=faults, TRACEAGENT_CONFIG=OPTIONS_FILE)
        if not self.is_tool:
            remote = remote_options(place) if self.uploads else {}
            if self.others:
                self.leave_others_traces(place)
            if self.comes_again:
                self.leave_killed_run(place)
            if self.prepare:
                self.prepare(place, remote)
            ended = place.run(self.command, faults=faults, **OPTIONS | self.options | self.surroundings | remote)
            for file in place.damaged:
                file.unlink(missing_ok=True)  # no trace of this run
            return self.take_moved_lines(place, ended)
        self.leave_traces(place)
        command = [word for part in self.command for word in (place.rings.glob("*/*") if part is ITS_RINGS else [part])]
        variables = self.options
        if self.uploads:
            command = [*command, *self.remote.words(place)]
            variables = variables | self.remote.variables(place)
        ended = place.run(command, preload=(FAULTS,), faults=faults, has_terminal=self.has_terminal,
                          goes_on_s=UPLOADS_S if self.keeps else 0, **variables)
        if (log := place.path / LOG).exists():
            problems = [line for line in log.read_text().splitlines(True) if line.startswith("traceagent: ")]
            ended.err += "".join(problems)
        if self.uploads:
            self.remote.fetch(place)
        return ended

    @staticmethod
    def take_moved_lines(place, ended):
        """The agent's, of a job whose standard error is a file, or its standard output."""
        log = place.path / LOG
        moved = [line for line in ended.out.splitlines(True) if line.startswith("traceagent: ")]
        ended.out = "".join(line for line in ended.out.splitlines(True) if line not in moved)
        ended.err += (log.read_text() if log.exists() else "") + "".join(moved)
        return ended

    def start(self, place, faults):
        launcher = place.path / LAUNCHER
        launcher.write_text(LAUNCHER_TEXT)
        launcher.chmod(0o755)
        return place.run(self.command, preload=(FAULTS,), faults=faults, FAULTS_IN=self.object.name,
                         TRACEAGENT_MPIRUN=launcher, **self.options)

    def leave_traces(self, place):
        if self.others:
            return self.leave_others_traces(place)
        if not self.before:
            shutil.copytree(traces_of_a_job(), place.path / "out")
            return
        remote = remote_options(place) if self.uploads else {}
        for rule in self.before * 8:
            ended = place.run([JOB], faults=rule, **OPTIONS | remote)
            if self.keeps:
                place.end_keepers(UPLOADS_S)
            place.table.unlink(missing_ok=True)
            if ended.code == -signal.SIGKILL and any((place.path / "out").glob(NAMELESS)):
                for ring in place.rings.rglob("*.ring") if self.is_sparse else []:
                    subprocess.run(["cp", "--sparse=always", ring, ring.with_suffix(".copy")], check=True)
                    ring.with_suffix(".copy").rename(ring)
                for written in place.rings.rglob("*.files"):
                    with written.open("a") as names:
                        names.write(HALF_A_NAME)
                return
            place.clear()
        sys.exit(f"FAILED: {self.name}: no job dies between its last file's end and its name: {ended.code} {ended.err}")

    @staticmethod
    def leave_others_traces(place):
        for name, data in others_traces().items():
            (place.path / name).write_bytes(data)

    def leave_killed_run(self, place):
        """Its index is nobody else's to read."""
        place.run([JOB, "terminated"], **OPTIONS | self.options)
        place.table.unlink()
        place.older = [path for path in place.rings.rglob("*") if path.is_file()]
        for name in place.path.glob("own*"):
            name.unlink()
        for index in (place.path / "out/index").iterdir():
            index.chmod(0o600)

    def upload_the_rest(self, place):
        """What waits is uploaded by hand, without faults; None: the job made no file at all."""
        if not (place.path / "out").exists():
            return None
        remote = self.remote if self.is_tool else targets.Folder()
        ended = place.run([UPLOADER, "--resume", "out", "--patience", "10s", *remote.RESUME], preload=(),
                          **remote.variables(place))
        remote.fetch(place)
        return ended

    def run_bare(self, place):
        return place.run(self.starts or self.command, preload=(), **self.surroundings)


def scenarios(pattern=""):
    known = [Scenario("job", [JOB], LIBRARY), Scenario("child killed", [JOB, "child_killed"], LIBRARY),
             Scenario("gzip", [JOB], LIBRARY, ZIPPED),
             Scenario("options file", [JOB], LIBRARY, has_file=True),
             Scenario("keep one", [JOB], LIBRARY, {"TRACEAGENT_OUTPUT_KEEP": "1"}, removes=True),
             Scenario("overwrite", [JOB], LIBRARY, {"TRACEAGENT_RING_FULL": "overwrite"}),
             Scenario("terminated", [JOB, "terminated"], LIBRARY, {"TRACEAGENT_SIGNALS": "TERM"}),
             Scenario("timed by events", [JOB, "slowly"], LIBRARY, WITHOUT_CUPTI, says=SAID_ANYWAY + "|CUPTI"),
             Scenario("private ring", [JOB], LIBRARY, {"TRACEAGENT_RING_FOLDER": "/proc/none"},
                      says=SAID_ANYWAY + "|recording in private memory"),
             Scenario("child without a ring", [JOB, "child_killed"], LIBRARY, faults=ONE_RING,
                      says=SAID_ANYWAY + "|recording in private memory"),
             Scenario("limited memory", [JOB, "limited"], LIBRARY),
             Scenario("in a thread", [JOB, "in_a_thread"], LIBRARY),
             Scenario("without rename", [JOB], LIBRARY, faults=WITHOUT_RENAME),
             Scenario("without links", [JOB], LIBRARY, faults=WITHOUT_LINKS),
             Scenario("again", [JOB], LIBRARY, SHARED, comes_again=True, leaves_rings=True,
                      says=SAID_ANYWAY + "|an earlier run of this name was killed"),
             Scenario("include", [JOB], LIBRARY, INCLUDE, others=True),
             # The tool is not done by then, and is ended.
             Scenario("include too slow", [JOB], LIBRARY, INCLUDE | {"TRACEAGENT_MERGE_TIMEOUT": "1ms"}, others=True,
                      keeps=True, says=SAID_ANYWAY + "|longer than merge.timeout"),
             Scenario("keeper", [JOB], LIBRARY, {"TRACEAGENT_KEEPER": "true"}, keeps=True),
             Scenario("counters", [JOB], LIBRARY, true_counters.OPTIONS | {"TRACEAGENT_SCHEDULE": ONE_WINDOW}),
             Scenario("remote", [JOB], LIBRARY, keeps=True, uploads=True),
             Scenario("remote, keep one", [JOB], LIBRARY, {"TRACEAGENT_OUTPUT_KEEP": "1", "TRACEAGENT_UPLOAD_WAIT": "10s"},
                      keeps=True, uploads=True, removes=True),
             # Where the uploader tries a file at that moment it stays, and nobody is told.
             Scenario("full queue", [JOB], LIBRARY, NOWHERE, keeps=True, removes=True, may_keep=True,
                      says=SAID_ANYWAY + "|upload.queue: .* left out"),
             Scenario("2 ranks remote", [JOB, "ranks", 2], LIBRARY, keeps=True, uploads=True),
             Scenario("2 ranks", [JOB, "ranks", 2], LIBRARY),
             Scenario("4 ranks", [JOB, "ranks", 4], LIBRARY, processes=4),
             # Who recovers says what is its own and what is the dead rank's.
             Scenario("rank killed", [JOB, "ranks_killed", 2], LIBRARY, processes=4),
             Scenario("rank killed, holes", [JOB, "ranks_holes", 2], LIBRARY, processes=4),
             Scenario("damaged files", [JOB], LIBRARY, CONTAINER | ZIPPED, prepare=leave_damaged_files,
                      lacks_a_rank="node0"),
             Scenario("exchanging", [JOB, "exchanging"], LIBRARY, {"TRACEAGENT_SCHEDULE": ONE_WINDOW}),
             Scenario("by injection", [JOB], LIBRARY, BY_INJECTION, prepare=leave_settings, surroundings=USERS_TOOL),
             Scenario("into a log", [JOB, "log"], LIBRARY),
             Scenario("into one output", [JOB, "one_output"], LIBRARY),
             Scenario("ends twice", [JOB, "ends_twice"], LIBRARY, WAITING_ZERO, lacks_a_rank="node0",
                      says=SAID_ANYWAY + NO_OTHER),
             Scenario("daemons", [JOB, "daemons"], LIBRARY, faults=ONE_RING, processes=3,
                      says=SAID_ANYWAY + "|recording in private memory"),
             Scenario("workers killed", [JOB, "workers_killed"], LIBRARY, faults="posix_fallocate#4=kill", processes=4),
             Scenario("many files", [JOB], LIBRARY, MANY_FILES, removes=True),
             Scenario("one name", [JOB], LIBRARY, ONE_NAME),
             Scenario("old run", [JOB], LIBRARY, OLD_AT_ONCE, prepare=leave_old_run),
             Scenario("young run", [JOB], LIBRARY, prepare=leave_young_run, leaves_rings=True),
             Scenario("claimed by no node", [JOB], LIBRARY, SHARED, prepare=leave_claim, leaves_rings=True),
             Scenario("without rank zero", [JOB], LIBRARY, CONTAINER, lacks_a_rank="node0", says=SAID_ANYWAY + NO_OTHER),
             # Its merge was uploaded before.
             Scenario("after rank zero", [JOB], LIBRARY, CONTAINER, keeps=True, uploads=True, removes=True,
                      prepare=leave_rank_zero, lacks_a_rank="^there/node0"),
             Scenario("held locks", [JOB], LIBRARY, {"TRACEAGENT_OUTPUT_KEEP": "1"}, keeps=True, uploads=True, removes=True,
                      prepare=hold_locks),
             Scenario("locks held too long", [JOB], LIBRARY, keeps=True, uploads=True,
                      prepare=functools.partial(hold_locks, held_s=HELD_TOO_LONG_S), says=SAID_ANYWAY + "|is not queued"),
             Scenario("CUDA 12", [JOB_12], LIBRARY, MORE_BUFFERS, prepare=leave_script),
             Scenario("opened", [OPENS_JOB], LIBRARY),
             Scenario("crowd", [JOB, "crowd"], LIBRARY, {"TRACEAGENT_RING_SIZE": "1MiB"}, processes=70),
             Scenario("full disk", [JOB, "slowly"], LIBRARY, FULL_DISK, keeps=True, uploads=True, removes=True,
                      may_keep=True, says=SAID_ANYWAY + "|upload.queue: .* left out|budget"),
             Scenario("recover", [TOOL, "recover", "--all"], TOOL, before=KILLED_AT_THE_END),
             Scenario("recover copied rings", [TOOL, "recover", "--all"], TOOL, before=KILLED_AT_THE_END, is_sparse=True),
             Scenario("wait", [TOOL, "recover", "--wait", "--log", LOG, ITS_RINGS], TOOL,
                      {"FAULTS_IN": TOOL.name}, before=KILLED_AT_THE_END, keeps=True, uploads=True,
                      remote=targets.Queued()),
             Scenario("list", [TOOL, "recover", "--list"], TOOL, before=KILLED_AT_THE_END, leaves_rings=True),
             Scenario("merge per node", [TOOL, "merge", "out", "--per-node", "-o", "merged"], TOOL, before=[]),
             Scenario("merge", [TOOL, "merge", "out", "-o", "merged.json"], TOOL, before=[]),
             Scenario("merge at a terminal", [TOOL, "merge", "out", "-o", "merged.json"], TOOL, before=[],
                      has_terminal=True),
             Scenario("merge without rename", [TOOL, "merge", "out", "-o", "merged.json"], TOOL, faults=WITHOUT_RENAME,
                      before=[]),
             Scenario("merge to gzip", [TOOL, "merge", "out", "-o", "merged.json.gz"], TOOL, before=[]),
             Scenario("import", [TOOL, "merge", "others_rank0.json", "--include", "others_rank1*", "-o", "merged.json"],
                      TOOL, before=[], others=True),
             Scenario("upload", [UPLOADER, "out", *PATIENCE], UPLOADER, before=[], uploads=True),
             Scenario("upload beside a job", [UPLOADER, "out", *PATIENCE, "--beside-job"], UPLOADER, before=[],
                      uploads=True),
             # It becomes the uploader, whose calls do not fail here.
             Scenario("upload by the tool", [TOOL, "upload", "out", *PATIENCE], TOOL, {"FAULTS_IN": TOOL.name},
                      before=[], uploads=True),
             Scenario("upload to S3", [UPLOADER, "out", *PATIENCE], UPLOADER, before=[], uploads=True,
                      remote=targets.S3()),
             Scenario("upload by name", [UPLOADER, "out", *PATIENCE], UPLOADER, before=[], uploads=True,
                      remote=targets.NamedS3()),
             Scenario("upload in parts", [UPLOADER, "out", *PATIENCE, "--multipart-from", "1KiB"], UPLOADER,
                      before=[], uploads=True, remote=targets.KeysOfCommand()),
             Scenario("upload by a role", [UPLOADER, "out", *PATIENCE], UPLOADER, before=[], uploads=True,
                      remote=targets.KeysOfRole()),
             Scenario("upload by a command", [UPLOADER, "out", *PATIENCE], UPLOADER, before=[], uploads=True,
                      remote=targets.Command()),
             Scenario("upload by a command that hangs", [UPLOADER, "out", "--patience", "5s", "--command-time", "1s"],
                      UPLOADER, before=[], uploads=True, remote=targets.HangingCommand()),
             Scenario("check", [TOOL, "check", "out/node0.json"], TOOL, before=[]),
             Scenario("check the machine", [TOOL, "check"], TOOL, before=[]),
             # The child that opens the first of others' libraries.
             Scenario("check, which hangs", [TOOL, "check"], TOOL, faults="_exit#1=stop", before=[]),
             Scenario("run", [TOOL, "run", *START], TOOL, has_file=True, starts=[JOB]),
             Scenario("traceagent-run", [RUN, *START], RUN, has_file=True, starts=[JOB]),
             Scenario("traceagent-mpirun", [MPIRUN, JOB], MPIRUN, OPTIONS, starts=[JOB])]
    return [scenario for scenario in known if re.search(pattern, scenario.name)]
