"""What of the suite is run in a build with AddressSanitizer (preset asan-ubsan), and why the rest is not. As
everywhere, ctest says by ASAN_OPTIONS that it is one."""
import os
import re

SANITIZED = "ASAN_OPTIONS" in os.environ
# Its handlers are not the program's, and its other stacks not where the program looks.
_OPTIONS = "handle_segv=0:handle_abort=0:handle_sigfpe=0:use_sigaltstack=0:detect_stack_use_after_return=0"

# (rows, why they are left out)
LEFT_OUT = [
    (r"python_.*|every_call|reopened.*|two_majors|opened_apart_.*|dl_errors",
     "such a build has no dlsym door: what is opened, or looked for, is another"),
    (r"fork.*|children_by_the_dozen|daemon|double_fork|orphan|preloaded_(twice|with_a_copy)",
     "the runtime's allocator may be locked in a forked child, for ever"),
    (r"own_malloc|limit_descriptors|refused_scheduling_before_.*|refused_memory_maps_.*",
     "the runtime needs what is not there, of each thread that is made or of itself"),
    (r"errno_at_start", "it finds the runtime's errno, with the agent or not"),
    (r".*_with_(agent_)?(jemalloc|tcmalloc|tsan)(_agent)?",
     "another's malloc, or another runtime, in its place: they do not start together, or free what is the other's"),
    (r"fibres|stacks_while_throwing", "the runtime looks after the stacks, and is in them"),
]


def reason_left_out(name):
    return next((reason for rows, reason in LEFT_OUT if re.fullmatch(rows, name)), "") if SANITIZED else ""


def variables(report):
    """Of a run, whose reports are then in files that begin with this path."""
    if not SANITIZED:
        return {}
    return {"ASAN_OPTIONS": f"{os.environ['ASAN_OPTIONS']}:{_OPTIONS}:log_path={report}",
            "UBSAN_OPTIONS": f"{os.environ.get('UBSAN_OPTIONS', '')}:log_path={report}"}


def reports(folder):
    """The first line of each that tells of an error."""
    found = []
    for path in sorted(folder.glob("sanitizer-report*")):
        lines = path.read_text(errors="replace").splitlines()
        found += [line for line in lines if "ERROR: " in line or "runtime error: " in line][:1]
    return found
