#pragma once

namespace traceagent::process {

// A forked child is inert until its own first hooked call. Registered once. False where that is
// refused: a child would then write into its parent's ring.
bool watch_forks() noexcept;

// Whether this process was forked by one in which watch_forks() was called.
bool is_forked() noexcept;

// In start.cpp: the child's view of an agent that never was.
void forget_after_fork() noexcept;

}  // namespace traceagent::process
