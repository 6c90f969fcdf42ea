#pragma once
// What was sampled in the sample's process: every counter, gaps, and notes.

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::fuzz {

// In the window that begins at tick 3000, and one sample of the window before it.
void add_counters(drain::CraftedRing& made, ring::Chunk& sampler);

}  // namespace traceagent::fuzz
