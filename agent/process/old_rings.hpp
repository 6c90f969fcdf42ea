#pragma once

namespace traceagent::process {

struct Agent;

// In local rank zero: removes what runs of this user's left in memory that died longer ago than
// ring.keep_dead, and says, where it may, how much of others is there. Takes a bounded time.
void remove_old_rings(const Agent& agent) noexcept;

}  // namespace traceagent::process
