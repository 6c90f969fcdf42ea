#pragma once

namespace traceagent::process {

// True when every other thread of the process has ended; a leader that left main by pthread_exit
// stays as a zombie until the last one has. Reads /proc/self/task.
bool is_last_thread() noexcept;

}  // namespace traceagent::process
