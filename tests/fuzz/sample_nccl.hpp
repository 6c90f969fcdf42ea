#pragma once
// What NCCL did in the sample's process: calls, what its profiler interface told of them, its
// kernels.

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::fuzz {

// From tick 3100 on; the job's thread and another one.
void add_nccl(drain::CraftedRing& made, ring::Chunk& main, ring::Chunk& other);

}  // namespace traceagent::fuzz
