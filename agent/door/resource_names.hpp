#pragma once
// What the job calls its streams, devices, contexts and threads. Nothing of CUDA is asked: a name
// is kept with the handle, and the drain meets the handle again in the calls that use it. So naming
// a stream initialises nothing, and a handle that is stale or made up does no harm.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "agent/ring/named_resources.hpp"

namespace traceagent::door {

// From any thread, before the agent's start too. An empty name takes the name away. Cut to 107
// bytes; where 512 resources have names, those of destroyed streams and of ended threads give way,
// then the name is counted as names_full.
void name_resource(ring::Named kind, std::uint64_t handle, std::string_view name) noexcept;

// Streams that have a name now.
extern constinit std::atomic<std::uint32_t> named_streams;

// The stream is about to be destroyed: another may be given its handle.
void forget_stream(const void* stream) noexcept;

// A new ring: all names are written into it.
void rewrite_resource_names() noexcept;

}  // namespace traceagent::door
