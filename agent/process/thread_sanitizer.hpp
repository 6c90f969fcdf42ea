#pragma once

namespace traceagent::process {

// Whether the job has ThreadSanitizer's runtime, and that would end this forked process because of
// a thread of ours: it does not let children of a process with threads start one.
bool thread_sanitizer_ends_children() noexcept;

}  // namespace traceagent::process
