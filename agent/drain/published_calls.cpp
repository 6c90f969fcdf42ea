#include "agent/drain/published_calls.hpp"

#include <algorithm>

namespace traceagent::drain {
namespace {

using ring::Chunk;
using ring::ChunkState;

bool is_published(const Chunk& chunk, std::uint32_t slot) noexcept {
  return chunk.records[slot].begin_ticks.load(std::memory_order_acquire) != 0;
}

// Records are published in order, but for a hole that a signal handler may leave: the first free
// slot by bisection, since reading all of them would cost the drain what it measures.
std::uint32_t published_in(const Chunk& chunk, std::uint32_t at_least) noexcept {
  std::uint32_t low = at_least, high = ring::records_per_chunk;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (is_published(chunk, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// What the device did and counters are written by threads of ours or CUPTI's.
bool is_of_own_threads(const Chunk& chunk) noexcept {
  const event::Layout layout = chunk.records[0].layout;
  return layout == event::Layout::device_work || layout == event::Layout::api_call ||
         layout == event::Layout::timed_by_event || layout == event::Layout::counter_sample ||
         layout == event::Layout::counter_note;
}

}  // namespace

PublishedCalls::PublishedCalls(const ring::Ring& ring) : ring_(ring), seen_(ring.chunk_count()) {
  threads_.reserve(most_threads);
}

void PublishedCalls::add(std::uint32_t thread_id, std::uint64_t calls) noexcept {
  for (OfThread& each : threads_) {
    if (each.thread_id != thread_id) continue;
    each.calls += calls;
    return;
  }
  if (threads_.size() < most_threads) threads_.push_back({thread_id, calls});
}

// Records of the chunk that are new since the last look.
std::uint32_t PublishedCalls::look_at(std::uint64_t index, bool& is_new) noexcept {
  const Chunk& chunk = ring_.chunk(index);
  if (chunk.state.load(std::memory_order_relaxed) == ChunkState::free) return 0;
  Seen& seen = seen_[index];
  const std::uint64_t number = chunk.claim_number.load(std::memory_order_acquire);
  if (number == 0) return 0;
  is_new = seen.claim_number != number;
  if (is_new) seen = {number, 0};
  if (seen.records == ring::records_per_chunk) return 0;
  const std::uint32_t published = published_in(chunk, seen.records);
  const std::uint32_t added = published - seen.records;
  seen.records = published;
  return is_of_own_threads(chunk) ? 0 : added;
}

std::uint64_t PublishedCalls::busiest_since_last() noexcept {
  threads_.clear();
  std::uint64_t new_chunks = 0;
  for (std::uint64_t i = 0; i < ring_.chunk_count(); ++i) {
    bool is_new = false;
    const std::uint32_t calls = look_at(i, is_new);
    if (calls != 0) add(ring_.chunk(i).thread_id.load(std::memory_order_relaxed), calls);
    new_chunks += is_new ? 1 : 0;
  }
  std::uint64_t busiest = 0;
  for (const OfThread& each : threads_) busiest = std::max(busiest, each.calls);

  const ring::Header& header = ring_.header();
  const std::uint64_t claims = header.next_claim.load(std::memory_order_relaxed);
  const std::uint64_t claimed = claims - claims_before_;
  claims_before_ = claims;
  if (claimed > new_chunks) busiest += (claimed - new_chunks) * ring::records_per_chunk;

  constexpr auto ring_full = static_cast<std::size_t>(ring::DropCause::ring_full);
  const std::uint64_t full = header.dropped[ring_full].load(std::memory_order_relaxed);
  busiest += full - full_before_;
  full_before_ = full;
  return busiest;
}

}  // namespace traceagent::drain
