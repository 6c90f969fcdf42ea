#pragma once
// budget.memory: the ring and CUPTI's buffers made to fit, and what is left for the agent's heap.

#include <cstdint>
#include <string>

#include "config/options.hpp"

namespace traceagent::process {

// Makes `ring.size` and `device.buffers` smaller where they leave less than a quarter of the
// budget, or 16 MiB, for the heap. Returns the line that says so; empty: they fit.
std::string fit_memory(config::Options& options);

// What the heap may have beside a ring of `ring_bytes`; INT64_MAX: no limit.
std::int64_t heap_limit_bytes(const config::Options& options, std::uint64_t ring_bytes) noexcept;

}  // namespace traceagent::process
