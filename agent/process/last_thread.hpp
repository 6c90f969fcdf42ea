#pragma once

namespace traceagent::process {

// True when every thread of the process but the caller and `other` (the system's id of one more of
// ours, 0: none) has ended; a leader that left main by pthread_exit
// stays as a zombie until the last one has. Reads /proc/self/task.
bool is_last_thread(long other) noexcept;

}  // namespace traceagent::process
