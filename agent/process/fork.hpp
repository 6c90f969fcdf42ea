#pragma once

namespace traceagent::process {

// A forked child is inert until its own first hooked call. Registered once.
void watch_forks() noexcept;

// In start.cpp: the child's view of an agent that never was.
void forget_after_fork() noexcept;

}  // namespace traceagent::process
