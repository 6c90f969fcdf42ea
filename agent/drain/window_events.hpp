#pragma once
// The records of a window, in order of their begin, out of a ring that others may still write.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

struct ThreadEvents {
  std::uint32_t thread_id = 0;
  std::string thread_name;
  std::vector<const event::Record*> records;  // by begin
};

// Calls of the job's threads that began in [begin_ticks, end_ticks). Pointers into the ring: valid
// until its chunks are freed. Memory: 8 bytes for each record, bounded by the ring.
std::vector<ThreadEvents> collect(const ring::Ring& ring, std::uint64_t begin_ticks,
                                  std::uint64_t end_ticks);

// What a file of this window would hold: calls, and what the device did between `begin_ns` and
// `end_ns`, which are the same moments.
std::uint64_t count_events(const ring::Ring& ring, std::uint64_t begin_ticks,
                           std::uint64_t end_ticks, std::int64_t begin_ns,
                           std::int64_t end_ns) noexcept;

struct RetiredChunks {
  std::uint64_t freed = 0, kept = 0;
};

// Gives back every retired chunk whose records all began before `before_ticks` and have ended.
RetiredChunks free_chunks_before(const ring::Ring& ring, std::uint64_t before_ticks) noexcept;

using ring::correlation_of;

// Merges the threads' events by begin. visit(thread index, record).
template <class Visit>
void for_each_in_order(const std::vector<ThreadEvents>& threads, Visit&& visit);

}  // namespace traceagent::drain

#include "agent/drain/window_order.inc"
