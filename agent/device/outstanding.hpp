#pragma once
// Launches whose work on the device has not been told of yet.

#include <cstdint>

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::device {

// Calls in the ring that began in [begin_ns, end_ns) (CLOCK_REALTIME), succeeded, and must have
// device work, which is not there. What is captured into a graph has none, and no copy of nothing.
// Up to three scans of the whole ring: milliseconds. Memory: 24 bytes for each launch, a bit for
// each correlation id between the first and the last, and in a job that captures 40 bytes for each
// of its calls from the first of them on that lacks its work.
std::uint64_t outstanding_launches(const ring::Ring& ring, const event::TickConverter& clock,
                                   std::int64_t begin_ns, std::int64_t end_ns);

// Threads of the job whose last launch, copy or set that began in [begin_ns, end_ns) CUPTI has not
// told of, the call itself: it lies in a buffer that still is with CUPTI, and with it may lie more.
std::uint64_t threads_behind(const ring::Ring& ring, const event::TickConverter& clock,
                             std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace traceagent::device
