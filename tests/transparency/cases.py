"""The table of the suite: one row per behaviour. What a program does is its first line."""
import dataclasses
import itertools
import pathlib
import sys

from preloaded import OTHERS
from states import STATES

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Differs:
    """Why the program sees a difference, and the only one that may be: all of these lines, and no others (verdicts.lines_of)."""
    reason: str
    lost: tuple = ()  # patterns of what it shows without the agent alone
    new: tuple = ()  # and with the agent alone


@dataclasses.dataclass
class Case:
    name: str
    group: str
    command: list
    # What the agent leaves in the active state: a rank's "file", "packed" ones that are whole, a "ring" to recover,
    # "any" of them, or "nothing", since it cannot.
    leaves: str = "file"
    # Libraries preloaded too: ":" separated, "agent" for ours, "copy" for a copy of it.
    preload: str = "agent"
    libraries: str = "simulated"  # or "synchronous": host functions run within the call
    environment: dict = dataclasses.field(default_factory=dict)
    root: bool = False
    # State: a Differs. The difference must be there.
    differs: dict = dataclasses.field(default_factory=dict)
    # Lines of its output that may come or go with the agent: (pattern, reason).
    shows: tuple = ()
    # Why nothing can show that the agent was there, while it is waiting or failing.
    unseen: str = ""
    # Why it does not say its state.
    speechless: str = ""
    states: tuple = tuple(STATES)
    # Folders whose libraries come before all others, in LD_LIBRARY_PATH.
    folders: tuple = ()
    # What it must say, alone too, or it is not what the row says: patterns of lines.
    says: list = dataclasses.field(default_factory=list)
    # What differs by itself from run to run, without the agent too: "err", "files" or "out".
    unwatched: tuple = ()


CASES = []


def program(name, group, *arguments, named=None, **more):
    words = [name, *map(str, arguments)]
    CASES.append(Case(named or "_".join(words), group, words, **more))


def script(name, group, *arguments, **more):
    words = [sys.executable, str(HERE / "programs" / f"{name}.py"), *arguments]
    CASES.append(Case("_".join([name, *arguments]), group, words, **more))


def shell(name, group, text, **more):
    CASES.append(Case(name, group, ["/bin/sh", "-c", text], **more))


def new_trace(folder):
    """What a rank, and children of it, leave in a folder that was not there."""
    return (rf"{folder}(/index)?: 0o407\d\d", rf"{folder}/ep0-ba\d-rank0(-pid\d+)?\.json: .*", rf"{folder}/node0\.json: .*",
            rf"{folder}/index/index\.json: .*")


# Where nobody says: the program's name, the time and its pid.
OWN_FOLDER = r"file environment_cleared-\d{8}-\d{6}-\d+"


for name in ("fork", "fork_before_call", "fork_in_exit_handler", "fork_chain", "fork_without_handlers",
             "vfork_exec", "posix_spawn", "system_and_popen", "daemon", "double_fork", "orphan", "exec_itself",
             "environment", "fork_beside_thread", "no_children", "takes_orphans", "children_by_the_dozen"):
    program(name, "children")
program("environment_cleared", "children", leaves="nothing", unseen="its options are gone: what it leaves in the working folder shows it",
        differs=dict.fromkeys(("waiting", "active", "failing"), Differs(
            "its options are gone with the environment: it traces into the working folder",
            new=(rf"{OWN_FOLDER}: 0o407\d\d", *new_trace(f"{OWN_FOLDER}/traces")))))
program("fork_while_tracing", "children", "{forks}", named="fork_while_tracing")
program("fork_while_tracing", "children", "{forks}", named="fork_while_sampling", environment={
    "TRACEAGENT_COUNTERS_INTERVAL": "10ms", "TRACEAGENT_BUDGET_OVERHEAD": "0", "LD_LIBRARY_PATH": ":".join(
        f"{{programs}}/{folder}" for folder in ("../sim/lib", "../sim/cupti", "../sim/nvml", "libraries"))})
program("fork_while_tracing", "children", "{forks}", "in_thread", named="fork_in_thread_while_tracing")
program("exec_in_thread", "children", leaves="ring")
program("static_binary", "children", "{programs}/end_return", named="static_binary")
shell("closed_pipe", "children", "{programs}/end_return | true; {programs}/threads_first_call | head -c 3; exit 4",
      leaves="any", speechless="its output goes into pipes that others close")
shell("shell_job", "children", "for i in 1 2 3; do {programs}/end_return > out$i & done; wait; cat out1; "
      "{programs}/end_exit; echo $?")

for name in ("return", "exit", "exit_now", "quick_exit", "with_threads", "main_thread", "in_thread",
             "exit_handlers", "twice"):
    program(f"end_{name}", "ends")
# malloc's lock may be held, and the loader's is: then the events stay in the ring.
program("end_in_handler", "ends", leaves="any")
SOON = {"TRACEAGENT_EXIT_TIMEOUT": "1s"}
program("end_in_handler", "ends", named="end_in_handler_of_one_arena", leaves="any", environment=SOON | {"MALLOC_ARENA_MAX": "1"})
program("end_in_constructor", "ends", "{programs}/libraries/libends.so", named="end_in_constructor", leaves="any", environment=SOON)
program("end_by_system_call", "ends", libraries="synchronous")
program("end_terminate_handler", "ends")
for name in ("exit_group", "abort", "exception", "sigterm", "sigint", "sigsegv", "sigkill", "sigpipe", "alarm"):
    program(f"end_{name}", "ends", leaves="ring")

for name in ("own_handlers", "chained_handler", "own_stack", "signal_in_call", "signal_waited_for", "jump_in_callback",
             "floats", "cancel_before_call"):
    program(name, "signals")
for name in ("jump_out_of_call", "throw_out_of_call", "fibres", "cancel_in_call", "stacks_while_throwing"):
    program(name, "signals", libraries="synchronous")
program("uncaught_in_call", "signals", libraries="synchronous", leaves="ring")

for name in ("threads_10000", "threads_512", "threads_first_call", "large_thread_locals", "threads_small_stacks", "threads_last_words",
             "throw_in_threads"):
    program(name, "threads")

for words in ("0", "1", "2", "012"):
    program("closed_outputs", "limits", words)
program("own_pipe_as_error_output", "limits", unseen="there is no standard error for the lines")
for name in ("started_closed", "all_closed", "limit_descriptors", "limit_stack", "locked_memory", "umask_all",
             "folder_gone", "not_dumpable"):
    program(name, "limits", leaves="nothing" if name == "limit_descriptors" else "file")
# With the folders that it is in. As PLACE stands for the whole path of a folder, it follows at once.
IN_NEW_ROOT = {state: Differs("the user's output.folder is made within the new root", new=(above, *new_trace(folder))) for state, above, folder in (
    ("active", r"file root(/.*|PLACE): 0o407\d\d", "file rootPLACE/traces"),
    ("failing", r"file root/proc(/no-such-folder)?: 0o407\d\d", "file root/proc/no-such-folder/traces"))}
for when in ("before", "after"):
    # What CUPTI takes is the library's affair.
    program("limit_memory", "limits", when, environment={"TRACEAGENT_DOORS_CUPTI": "false",
                                                         "TRACEAGENT_RING_SIZE": "64MiB"},
            shows=((r"state .*: limit 9 \d+ \d+", "the program sets it by what it has mapped"),))
    program("chroot_without_shm", "limits", when, root=True, leaves="ring" if when == "after" else "nothing", differs=IN_NEW_ROOT)
    program("setuid", "limits", when, root=True, leaves="any")
program("set_group_id", "limits", root=True, says=(r"secure 1, group 65534, preload 0", r"copy 4"))
program("limit_file_size", "limits", 0, leaves="nothing", unseen="no line can be written",
        speechless="no line can be written")
program("limit_file_size", "limits", 1 << 20, leaves="any")
program("limit_threads", "limits", root=True, leaves="nothing")
# The simulated GPU lives by that clock too.
program("clock_jumps", "limits", preload="clock:agent", libraries="synchronous")

REFUSED = ("memory_files", "make_files", "open_files", "look_at_files", "descriptors", "threads", "identity",
           "scheduling", "signals", "random", "pauses", "memory_maps", "transfers", "handlers", "clocks")
LEAVE_NOTHING = {(name, "before") for name in ("make_files", "open_files", "threads", "memory_maps", "handlers")}
UNSEEN = {("look_at_files", "before"): "what a descriptor is cannot be told: neither our lines nor its own say anything"}
for name in REFUSED:
    for when, error in itertools.product(("before", "after"), ("EPERM", "ENOSYS")):
        program("refused_calls", "refusals", name, when, error, named=f"refused_{name}_{when}_{error}",
                leaves="nothing" if (name, when) in LEAVE_NOTHING else "any", unseen=UNSEEN.get((name, when), ""))
program("starts_no_process", "refusals")
# Killed by SIGSYS: at the first call, before it says anything, and at its end.
program("starts_no_process", "refusals", named="starts_the_keeper", environment={"TRACEAGENT_KEEPER": "true"}, leaves="ring",
        states=("absent", "active"), differs={"active": Differs("keeper: true is a process, which the filter sees",
                                                                lost=("code: 3", "out: .*"), new=("code: -31",))})
program("starts_no_process", "refusals", named="starts_the_upload", environment={"TRACEAGENT_OUTPUT_REMOTE": "exec:true {}"},
        states=("absent", "active"), differs={"active": Differs("output.remote has traceagent-upload started, which the filter sees",
                                                                lost=("code: 3",), new=("code: -31",))})

# With these the agent uses its yaml-cpp at the start and its zlib at each window's end.
OWN_AND_OURS = {"environment": {"TRACEAGENT_CONFIG": str(HERE / "own_libraries.yaml")}, "leaves": "packed"}
for name in ("constructors", "errno_at_start", "reopened", "two_majors", "dl_errors", "every_call", "last_error", "nccl_alone",
             "own_malloc", "own_libraries", "own_wrappers"):
    program(name, "libraries")
program("exports_its_own", "libraries")
program("own_linked_libraries", "libraries", **OWN_AND_OURS)
program("own_opened_libraries", "libraries", "{programs}/libraries/libown_work.so", named="own_opened_libraries",
        **OWN_AND_OURS)
program("reopened", "libraries", "maps", differs=dict.fromkeys(
    ("waiting", "active", "failing"), Differs("what our wrappers lead to stays mapped (RTLD_NODELETE)",
                                              lost=("out: mapped after the close: cudart 0 times, NCCL 0 times",),
                                              new=("out: mapped after the close: cudart 40 times, NCCL 40 times",))))
program("opened_apart", "libraries", "deepbind")
program("opened_apart", "libraries", "dlmopen")
for user, words in (("renamed", []), ("its_own", []), ("12", ["lookup"]), ("12", ["call"])):
    program("cudart_of_an_extension", "libraries", f"{{programs}}/libraries/libuser_of_{user}.so", *words,
            named="_".join(["cudart_of_an_extension", user, *words]))
for user in ("renamed", "12", "its_own", "nccl"):
    program("fork_beside_loader_walk", "libraries", f"{{programs}}/libraries/libuser_of_{user}.so",
            named=f"fork_beside_loader_walk_{user}")
for pair in (("kernel_of_12", "kernel_of_renamed"), ("user_of_its_own", "user_of_12"), ("user_of_nccl", "user_of_other_nccl")):
    for extensions in (pair, pair[::-1]):
        program("copies_of_a_library", "libraries", *(f"{{programs}}/libraries/lib{each}.so" for each in extensions),
                named="copies_" + "_and_".join(extensions))


def next_ones(without, with_agent):
    """Sums of what the calls return, as they are opened and again. Without: of the library that the tool opens."""
    lost, new = ((f"out: opened 1: {first}", f"out: again: {again}") for first, again in (without, with_agent))
    return dict.fromkeys(("off", "waiting", "active", "failing"), Differs(
        "the tool asks for the next one's: ours leads to what its caller brings, where it would have opened another", lost, new))


OF_THE_CALLER = {"other_nccl": next_ones((400, 400), (3005120, 2005080)), "renamed": next_ones((9803001, 9802001), (9800000, 9800000))}
for user, preload in (("nccl", "tool:agent"), ("nccl", "agent:tool"), ("any_nccl", "tool:agent"), ("other_nccl", "tool:agent"),
                      ("12", "cudart_tool:agent"), ("renamed", "cudart_tool:agent"), ("nccl_stub", "agent"), ("nccl_stub", "tool:agent")):
    program("copies_of_a_library", "libraries", f"{{programs}}/libraries/libuser_of_{user}.so", preload=preload,
            named=f"timed_by_{preload.replace(':', '_')}_{user}", differs=OF_THE_CALLER.get(user, {}))
# Who has asked dlsym for its functions; what comes into the global scope after another copy was called.
for extensions in (("soft_user_of_nccl", "user_of_other_nccl"), ("soft_user_of_12", "kernel_of_renamed"), ("kernel_of_renamed", "soft_user_of_12"),
                   ("user_of_nccl", "global:other_nccl", "user_of_any_nccl"),
                   ("user_of_other_nccl", "global:nccl", "user_of_any_nccl"),
                   ("kernel_of_renamed", "global:cudart", "kernel_of_12"), ("kernel_of_12", "kernel_of_renamed", "global:cudart")):
    files = {"global:other_nccl": "global:{programs}/libraries/libother_nccl.so", "global:nccl": "global:libnccl.so.2",
             "global:cudart": "global:libcudart.so.12"}
    program("copies_of_a_library", "libraries", *(files.get(each, f"{{programs}}/libraries/lib{each}.so") for each in extensions),
            named="copies_" + "_and_".join(extensions).replace("global:", "all_have_"))
program("nvtx_of_its_own", "libraries")
program("nvtx_of_its_own", "libraries", named="nvtx_tool_named",
        environment={"NVTX_INJECTION64_PATH": "{programs}/libraries/libnvtx_tool.so"})
program("fork", "libraries", named="preloaded_twice", preload="agent:agent")
program("fork", "libraries", named="preloaded_with_a_copy", preload="agent:copy")
program("end_exit_now", "libraries", named="preloaded_behind_a_copy", preload="copy:agent")

# What the trace holds then, see ../hosts/preloads_test.py.
for name, other in OTHERS.items():
    for (behaviour, leaves), preload in itertools.product(
            (("fork", "file"), ("fork_beside_thread", "file"), ("environment", "file"), ("threads_first_call", "file"), ("end_sigterm", "ring")),
            (f"{name}:agent", f"agent:{name}")):
        more = other.after_us if preload.startswith("agent") else {}
        program(behaviour, "preloads", named=f"{behaviour}_with_{preload.replace(':', '_')}", preload=preload,
                leaves=leaves, environment=other.variables | more)

for word in ("fork", "spawn", "forkserver", "pool", "loader", "subprocess", "os_fork"):
    script("python_children", "python", word)
for word in ("return", "exit", "os_exit", "raise", "in_thread"):
    script("python_ends", "python", word)
for word in ("abort", "faulthandler", "interrupt"):
    script("python_ends", "python", word, leaves="ring")

# The options that add to the process: signals has handlers, keeper another process.
HANDLERS = ((r"state .*: SigCgt:.*", "handlers for the option's signals, where the program has none"),)
WITH_SIGNALS = {"environment": {"TRACEAGENT_SIGNALS": "TERM, INT"}, "shows": HANDLERS}
WITH_KEEPER = {"environment": {"TRACEAGENT_KEEPER": "true"}}
for name in ("own_handlers", "chained_handler", "own_stack", "signal_in_call", "signal_waited_for", "end_return",
             "end_in_handler", "fork", "exec_itself", "end_sigterm", "end_sigint"):
    program(name, "options", named=f"{name}_with_signals", **WITH_SIGNALS)
program("end_sigkill", "options", named="end_sigkill_with_signals", leaves="ring", **WITH_SIGNALS)
for name in ("end_return", "end_in_thread", "fork", "vfork_exec", "posix_spawn", "exec_itself", "exec_in_thread",
             "no_children", "takes_orphans", "all_closed", "end_sigterm", "end_sigkill"):
    program(name, "options", named=f"{name}_with_keeper", **WITH_KEEPER)
program("own_pid_namespace", "options", named="own_pid_namespace_with_keeper", root=True, leaves="nothing", **WITH_KEEPER)

# Debian's releases whose libraries are fetched (packaging/other_libraries.txt), and the versions.
RELEASES = {"bullseye": {"zlib": "1.2.11", "yaml-cpp": "0.6.3", "libunwind": "1.3"},
            "trixie": {"zlib": "1.3.1", "libunwind": "1.8"}}
MANY_WINDOWS = {"TRACEAGENT_SCHEDULE": "warmup=0,active=30,repeat=15"}


def with_libraries_of(release, versions):
    """Linked to them, opened, and in place of those that a program was linked to."""
    theirs = f"{{deps}}/other_libraries/{release}"
    folders = (f"{theirs}/lib", f"{theirs}/yaml-cpp")
    replaced = [rf"zlib {versions['zlib']} of .*/{release}/lib/libz\.so\.{versions['zlib']}",
                rf"libunwind .* of .*/{release}/lib/libunwind\.so\.8.*"]
    opened = [*replaced, rf"libunwind {versions['libunwind']} of .*"]
    linked = list(opened)
    if "yaml-cpp" in versions:
        linked.append(rf"yaml-cpp of .*/{release}/yaml-cpp/libyaml-cpp\.so\.{versions['yaml-cpp']}")
    name = f"own_linked_libraries_{release}"
    program(name, release, folders=folders, says=linked, **OWN_AND_OURS)
    program(name, release, named=f"{name}_and_windows", states=("absent", "active"), folders=folders, says=linked,
            **OWN_AND_OURS | {"environment": OWN_AND_OURS["environment"] | MANY_WINDOWS})
    program("own_linked_libraries", release, named=f"own_linked_libraries_on_{release}", folders=folders, says=replaced,
            **OWN_AND_OURS)
    program("own_opened_libraries", release, f"{{programs}}/libraries_{release}/libown_work.so",
            named=f"own_opened_libraries_{release}", says=opened, **OWN_AND_OURS)


for release, versions in RELEASES.items():
    with_libraries_of(release, versions)
