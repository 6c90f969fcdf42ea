#include "agent/drain/timed_calls.hpp"

#include <algorithm>

namespace traceagent::drain {

using event::Record;

TimedCalls::TimedCalls(const ring::Ring& ring, const std::vector<ThreadEvents>& threads)
    : threads_(threads), ring_(ring) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const std::uint64_t number = ring.chunk(i).claim_number.load(std::memory_order_acquire);
    if (number != 0) chunks_.emplace(number, &ring.chunk(i));
  }
  for (std::uint32_t i = 0; i < threads.size(); ++i) thread_of_.emplace(threads[i].thread_id, i);
}

std::optional<TimedCalls::Place> TimedCalls::find(std::uint64_t place) const {
  if (place == 0) return std::nullopt;
  const auto chunk = chunks_.find((place - 1) / ring::records_per_chunk);
  if (chunk == chunks_.end()) return std::nullopt;
  const Record& record = chunk->second->records[(place - 1) % ring::records_per_chunk];
  const auto thread = thread_of_.find(chunk->second->thread_id.load(std::memory_order_relaxed));
  if (thread == thread_of_.end()) return std::nullopt;
  const auto& records = threads_[thread->second].records;
  const auto begin_of = [](const Record* each) {
    return each->begin_ticks.load(std::memory_order_relaxed);
  };
  auto found = std::lower_bound(
      records.begin(), records.end(), begin_of(&record),
      [&](const Record* each, std::uint64_t ticks) { return begin_of(each) < ticks; });
  while (found != records.end() && *found != &record && begin_of(*found) == begin_of(&record)) {
    ++found;
  }
  if (found == records.end() || *found != &record) return std::nullopt;
  return Place{thread->second, static_cast<std::uint32_t>(found - records.begin())};
}

}  // namespace traceagent::drain
