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
  live_.resize(ring.chunk_count());
}

void PublishedCalls::add(std::uint32_t thread_id, std::uint64_t calls) noexcept {
  for (OfThread& each : threads_) {
    if (each.thread_id != thread_id) continue;
    each.calls += calls;
    return;
  }
  if (threads_.size() < most_threads) threads_.push_back({thread_id, calls});
}

// Those with numbers after the last look's, up to `claims`. Returns how many: of the others that
// were claimed since, chunks are free again or overwritten.
std::uint64_t PublishedCalls::find_new(std::uint64_t claims) noexcept {
  // A claim takes the first free chunk behind the one taken last, or the oldest, which is mostly
  // next to that too; threads that claim at the same time have their numbers in another order.
  constexpr std::uint64_t margin = 64;
  const std::uint64_t count = ring_.chunk_count(), wanted = claims - claims_before_;
  const std::uint64_t first = last_found_ + count - std::min(margin, count);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < count && found < wanted; ++i) {
    const std::uint64_t index = (first + i) % count;
    const Chunk& chunk = ring_.chunk(index);
    // 0 where it is free. One whose number is not yet stored counts as overwritten: as full.
    const std::uint64_t number = chunk.claim_number.load(std::memory_order_acquire);
    if (number <= claims_before_ || number > claims) continue;
    last_found_ = index;
    // One that was used again since the last look is in the list already.
    if (!seen_[index].is_live) live_[live_count_++] = index;
    seen_[index] = {number, 0, true};
    ++found;
  }
  return found;
}

// Counts the records that are new since the last look.
bool PublishedCalls::may_have_more(std::uint64_t index) noexcept {
  const Chunk& chunk = ring_.chunk(index);
  Seen& seen = seen_[index];
  if (chunk.state.load(std::memory_order_relaxed) == ChunkState::free) return false;
  if (chunk.claim_number.load(std::memory_order_acquire) != seen.claim_number) return false;
  const std::uint32_t published = published_in(chunk, seen.records);
  const std::uint32_t added = published - seen.records;
  seen.records = published;
  if (added != 0 && !is_of_own_threads(chunk)) {
    add(chunk.thread_id.load(std::memory_order_relaxed), added);
  }
  return published != ring::records_per_chunk;
}

void PublishedCalls::look_at_live() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < live_count_; ++i) {
    Seen& seen = seen_[live_[i]];
    seen.is_live = may_have_more(live_[i]);
    if (seen.is_live) live_[kept++] = live_[i];
  }
  live_count_ = kept;
}

std::uint64_t PublishedCalls::busiest_since_last() noexcept {
  threads_.clear();
  const ring::Header& header = ring_.header();
  const std::uint64_t claims = header.next_claim.load(std::memory_order_relaxed);
  const std::uint64_t claimed = claims - claims_before_;
  const std::uint64_t new_chunks = find_new(claims);
  claims_before_ = claims;
  look_at_live();

  std::uint64_t busiest = 0;
  for (const OfThread& each : threads_) busiest = std::max(busiest, each.calls);

  if (claimed > new_chunks) busiest += (claimed - new_chunks) * ring::records_per_chunk;

  constexpr auto ring_full = static_cast<std::size_t>(ring::DropCause::ring_full);
  const std::uint64_t full = header.dropped[ring_full].load(std::memory_order_relaxed);
  busiest += full - full_before_;
  full_before_ = full;
  return busiest;
}

}  // namespace traceagent::drain
