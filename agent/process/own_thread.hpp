#pragma once

#include <cstddef>

namespace traceagent::process {

// Starts a detached thread of ours, with every signal blocked: none of the job's may be handled in
// it. The stack is of `stack_bytes`, beside the job's thread-local variables: the default is the
// job's RLIMIT_STACK, which may be tiny or huge. `name` may be null, else it is the thread's.
// Returns 0, or the error's number.
int start_own_thread(std::size_t stack_bytes, const char* name, void* (*run)(void*),
                     void* argument) noexcept;

// First thing in such a thread: it may have been started by a thread of the job that is pinned to
// one CPU, or has a real-time class, neither of which is meant for our work. It runs where the
// process's first thread may, in the ordinary class. What is refused stays as it is.
void leave_starters_scheduling() noexcept;

// What a user can do about an error of start_own_thread().
inline constexpr const char* thread_remedy =
    "raise the limit of processes (ulimit -u, or the container's limit of pids)";

}  // namespace traceagent::process
