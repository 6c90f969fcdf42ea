#pragma once

namespace traceagent::process {

// The names of our threads; all begin alike.
inline constexpr const char* drain_thread_name = "traceagent";
inline constexpr const char* device_thread_name = "traceagent-gpu";
inline constexpr const char* counter_thread_name = "traceagent-cnt";
inline constexpr const char* gpu_counter_thread_name = "traceagent-nvml";

// True when every thread of the process that is not ours has ended; a leader that left main by
// pthread_exit stays as a zombie until the last one has. Ours go by their names, which the threads
// that CUPTI starts in one of them inherit. Reads /proc/self/task.
bool is_last_thread() noexcept;

// Ends the process as it would have ended with its last thread.
[[noreturn]] void end_as_last_thread() noexcept;

}  // namespace traceagent::process
