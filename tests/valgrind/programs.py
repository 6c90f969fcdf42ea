"""What is run under valgrind: tests/programs in their ways, and the programs of tests/transparency. And
what cannot be."""

import re

import cases

WORDS_OF_LIFE = ("nothing", "return", "exit", "quick_exit", "_exit", "exit_in_thread", "exit_in_handler", "main_leaves",
                 "throw", "abort", "sigterm", "sigint", "sighup", "own_handler", "later_handler", "ignored",
                 "child_default", "no_children", "sigkill", "fork_silent", "fork_calls", "fork_busy", "vfork_exec",
                 "exec_itself", "exec_other", "daemon", "closes_all")
WAYS_IN = ("dlsym", "dlsym_lazy", "dlvsym", "default", "next", "deepbind", "reopened", "not_there", "nobody",
           "old_hash", "same_address")
CLIENTS = ("first", "second", "default", "per_thread", "symbols", "future", "unknown", "same_address", "init",
           "init_by_symbol")
STEPS = ("step_data_parallel", "step_grad_accumulation", "step_single_gpu", "step_eval_every_50",
         "cupti_user --own", "cupti_user --own --dlsym", "cupti_user --own --once",
         "cupti_user --capture")
PROGRAMS = (
    "all_calls", "all_calls_per_thread", "around_main", "busy_threads --steps 4", "driver_linked", "forks_and_loads",
    "hostile_names a\"b <c>", "named_streams all", "named_streams names_only", "noisy 0 2000", "odd_work 4 3", "steady 12 20 500 3", "two_majors",
    *(f"{words} --steps 8" for words in STEPS), *(f"process_life {word}" for word in WORDS_OF_LIFE),
    *(f"ways_in {word}" for word in WAYS_IN), *(f"driver_client {word}" for word in CLIENTS))

# Of four ranks, all under valgrind.
RANKED = ("nccl_plans", "nccl_plans blocking", "nccl_plans_static blocking", "step_data_parallel --steps 6",
          "step_tensor_pipeline --steps 6", "cupti_user --own --steps 8")

# Name of a case, or its beginning → why valgrind says nothing of it.
CANNOT = {
    "allocates": "process_life's: it fills the memory until malloc fails; valgrind ends first",
    "real_calls": "nvcc's program on the real libraries: they refuse all without a GPU",
    "gloo_training": "PyTorch: hours",
    "transparency fibres": "it changes stacks that valgrind was not told of: what lies on one that was left is unset to it",
    "transparency threads_512": "valgrind allows 500 threads",
    "transparency threads_10000": "10,000 threads, of which valgrind lets one run at a time: more than four minutes",
}


def transparency_cases():
    return list(cases.CASES)


def reason_not_to(name):
    return next((why for word, why in CANNOT.items() if re.match(word, name)), None)
