#pragma once

#include "agent/ring/ring.hpp"

namespace traceagent::ring {

// What goes with a chunk that is taken over: counted for the windows that have no file yet. What
// was recorded in warm-up is no loss.
void count_overwritten(const Ring& ring, const Chunk& chunk) noexcept;

}  // namespace traceagent::ring
