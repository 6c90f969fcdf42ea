#pragma once
// Workers of a rank that are killed faster than their rings are written, or where nobody writes
// them, must not fill the node's memory with those: from some size on new workers record into
// memory of their own, which is gone when they are killed, and the job is told of it. So is it of
// every process whose ring the folder would not take.

#include <cstddef>
#include <cstdint>

#include "agent/process/run_folder.hpp"
#include "agent/ring/private_workers.hpp"

namespace traceagent::process {

struct Agent;

// Most memory that the rings of a run's dead processes may take when another second claimant makes
// a ring of `ring_bytes`: sixteen such, or `rings` if that is more, or 256 MiB, but no more than a
// quarter of the folder's file system.
std::uint64_t most_dead_bytes(const RunFolder& folder, std::uint64_t ring_bytes,
                              std::uint64_t rings = 0) noexcept;
bool has_more_dead_than(const RunFolder& folder, std::uint64_t bytes);

// Who merges has to know that there are such, though it sees no ring of theirs: they are peers of
// its like all others (peers.hpp). Where that cannot be noted a line says so.
void note_private_worker(Agent& agent);
// Of the run, as its ranks end: ever.
ring::PrivateKilled private_workers_killed(const Agent& agent);
// One line, if there are any.
void say_private_workers_killed(const ring::PrivateKilled& killed);
// Where nobody merges: who speaks for the node, or else who removes the run's folder.
void say_private_workers_killed_once(const Agent& agent, const ring::PrivateKilled& killed);

}  // namespace traceagent::process
