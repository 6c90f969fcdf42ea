"""What is run under valgrind: tests/programs in their ways, the programs of tests/transparency, and the tools in
their own tests. And what cannot be."""

import re

import cases

WORDS_OF_LIFE = ("nothing", "return", "exit", "quick_exit", "_exit", "exit_in_thread", "exit_in_handler", "main_leaves",
                 "throw", "abort", "sigterm", "sigint", "sighup", "own_handler", "later_handler", "ignored",
                 "child_default", "no_children", "sigkill", "fork_silent", "fork_calls", "fork_busy", "vfork_exec",
                 "exec_itself", "exec_other", "daemon", "closes_all")
WAYS_IN = ("dlsym", "dlsym_lazy", "dlvsym", "default", "next", "deepbind", "reopened", "not_there", "nobody",
           "old_hash", "same_address")
CLIENTS = ("first", "second", "default", "per_thread", "symbols", "future", "unknown", "same_address", "init",
           "init_by_symbol", "init_again", "init_in_child", "local_stub")
STEPS = ("step_data_parallel", "step_grad_accumulation", "step_single_gpu", "step_graph", "step_eval_every_50", "step_started_ranges",
         "cupti_user --own", "cupti_user --own --dlsym", "cupti_user --own --once",
         "cupti_user --capture")
# A libcupti that does not come back.
HANGS = "LD_LIBRARY_PATH={build}/programs/hanging_cupti:{build}/sim/lib:{build}/programs TRACEAGENT_EXIT_TIMEOUT=2s"
# A line may begin with variables, NAME=VALUE.
PROGRAMS = (
    "all_calls", "all_calls_per_thread", "around_main", "busy_threads --steps 4", "driver_linked", "forks_and_loads", "titled_rank plain 0", "cancelled_forks",
    "hostile_names a\"b <c>", "named_streams all", "named_streams names_only", "noisy 0 2000", "chatty", "odd_work 4 3", "steady 12 20 500 3", "two_majors",
    "counted 5 4 4096 20", "ends_while_ending return 4000", "ends_while_ending joined 0", "first_calls 8 50 500", "lowest_number 8 20 2000", "small_job", "small_job child_killed", "small_job_12", "opens_job",
    "SIMGPU_SCRIPT={source}/tests/process/refused_collectives.yaml refused_collectives 40",
    f"{HANGS} steady 12 20 500 3", f"HANGING_CUPTI=cuptiActivityEnable {HANGS} steady 12 20 500 3",
    *(f"{words} --steps 8" for words in STEPS), *(f"process_life {word}" for word in WORDS_OF_LIFE),
    *(f"ways_in {word}" for word in WAYS_IN), *(f"driver_client {word}" for word in CLIENTS))

# Of four ranks, all under valgrind.
RANKED = ("nccl_plans", "nccl_plans blocking", "nccl_plans_static blocking", "step_data_parallel --steps 6",
          "step_tensor_pipeline --steps 6", "cupti_user --own --steps 8")

# They say something and wait to be told to end.
WAITING = ("long_names 200",)

# Tests of the command line's tools, whose `traceagent` then runs under valgrind: recover, check, merge, upload.
TOOL_TESTS = ("process/recover_test.py", "process/check_trace_test.py", "golden/merge_test.py", "upload/credentials_test.py", "upload/parts_test.py")

# Name of a case, or its beginning → why valgrind says nothing of it.
CANNOT = {
    r"transparency \w+_with_(agent_)?(jemalloc|tcmalloc|asan|ubsan|tsan|fakeroot|stdbuf|interposer)":
        "valgrind takes the place of allocators, and is no host for a sanitizer's runtime",
    "allocates": "process_life's: it fills the memory until malloc fails; valgrind ends first",
    "real_calls": "nvcc's program on the real libraries: they refuse all without a GPU",
    "gloo_training": "PyTorch: hours",
    "transparency fibres": "it changes stacks that valgrind was not told of: what lies on one that was left is unset to it",
    r"transparency refused_(memory_maps|transfers|handlers)_\w+": "valgrind itself ends where these calls are refused",
    "transparency threads_512": "valgrind allows 500 threads",
    "transparency threads_10000": "10,000 threads, of which valgrind lets one run at a time: more than four minutes",
}


def parts_of(line):
    """Of a line of the table: (its variables, the program's name, its words)."""
    words = line.split()
    count = next(i for i, word in enumerate(words) if "=" not in word)
    return dict(word.split("=", 1) for word in words[:count]), words[count], words[count + 1:]


def lines():
    return (*PROGRAMS, *RANKED, *WAITING)


def transparency_cases():
    return list(cases.CASES)


def reason_not_to(name):
    return next((why for word, why in CANNOT.items() if re.match(word, name)), None)
