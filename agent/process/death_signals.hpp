#pragma once

#include <vector>

namespace traceagent::process {

// Option `signals`: where the job left one of these signals its default action, that action waits
// until the drain thread has written the last events, at most exit.timeout; then it comes, so that
// the process ends with the status it would have had. No other signal of the job is touched, and a
// handler that it sets later takes ours away, though it finds ours where it looks for the action
// before, not SIG_DFL: called by it, ours does nothing. False where the system refused one.
bool watch_death_signals(const std::vector<int>& signals) noexcept;

// In the child of a fork: the default actions as they were. Async-signal-safe.
void unwatch_death_signals() noexcept;

}  // namespace traceagent::process
