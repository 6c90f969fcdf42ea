#pragma once

#include <cstdint>
#include <string>

namespace traceagent::process {

struct Agent;

// In local rank zero: removes what runs of this user's left in memory that died longer ago than
// ring.keep_dead, gives back what the others have not used, and says, where it may, how much of
// them is there. Takes a bounded time.
void remove_old_rings(const Agent& agent) noexcept;

// A job that is killed and started again and again must not fill the node's memory with what waits
// for `traceagent recover`. True where that takes more than most_old_bytes(): this run then records
// in private memory, all its processes alike, and a line says so. What can be done without loss is
// done first.
bool has_too_much_old(const Agent& agent);

// Sixteen rings, twice those of the node's ranks or 256 MiB, whichever is most, but no more than a
// quarter of the folder's file system or of what the control group allows.
std::uint64_t most_old_bytes(const Agent& agent);

// What the control group of this process, or of its container, allows; UINT64_MAX: no limit is
// known. `root` goes before all paths.
std::uint64_t group_memory_bytes(const std::string& root);

}  // namespace traceagent::process
