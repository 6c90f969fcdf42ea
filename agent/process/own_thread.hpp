#pragma once

#include <cstddef>

namespace traceagent::process {

// Starts a detached thread of ours, with every signal blocked: none of the job's may be handled in
// it. The stack is of `stack_bytes`, since the default is the job's RLIMIT_STACK, which may be tiny
// or huge. `name` may be null, else it is the thread's. Returns 0, or the error's number.
int start_own_thread(std::size_t stack_bytes, const char* name, void* (*run)(void*),
                     void* argument) noexcept;

// What a user can do about an error of start_own_thread().
inline constexpr const char* thread_remedy =
    "raise the limit of processes (ulimit -u, or the container's limit of pids)";

}  // namespace traceagent::process
