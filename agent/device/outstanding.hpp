#pragma once
// Launches whose work on the device has not been told of yet.

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::device {

// Calls in the ring that began in [begin_ns, end_ns) (CLOCK_REALTIME), succeeded, and must have
// device work, which is not there. Launches of a thread that captures a graph have none. A scan of
// the whole ring: milliseconds. Memory: 4 bytes for each launch, and a bit for each correlation id
// between the first and the last.
std::uint64_t outstanding_launches(const ring::Ring& ring, std::int64_t begin_ns,
                                   std::int64_t end_ns);

}  // namespace traceagent::device
