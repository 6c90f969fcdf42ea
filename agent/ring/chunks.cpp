// A chunk's way from free to a thread, from that to the drain, and back.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "agent/ring/overwritten_records.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::ring {
namespace {

// Whose it was, too: what is nobody's is zeros, as what was never used and may become a hole.
void clear(Chunk& chunk) noexcept {
  chunk.claim_number.store(0, std::memory_order_relaxed);
  // A kill in the middle must find it nobody's: the compiler may else clear it last.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  chunk.thread_id.store(0, std::memory_order_relaxed);
  std::memset(chunk.thread_name, 0, sizeof chunk.thread_name);
  // Plain memset: no other thread reads a chunk that is being given back or taken over, but a
  // recovering reader, which treats a zero begin_ticks as "no record".
  std::memset(static_cast<void*>(chunk.records), 0, sizeof chunk.records);
}

void take(const Ring& ring, Chunk& chunk, std::uint32_t thread_id,
          const ThreadName& name) noexcept {
  chunk.thread_id.store(thread_id, std::memory_order_relaxed);
  std::memcpy(chunk.thread_name, name, sizeof chunk.thread_name);
  const auto place = static_cast<std::uint64_t>(&chunk - &ring.chunk(0));
  ring.header().next_place.store(place + 1, std::memory_order_relaxed);
  const std::uint64_t before = ring.header().next_claim.fetch_add(1, std::memory_order_relaxed);
  chunk.claim_number.store(before + 1, std::memory_order_release);
}

std::uint64_t number_of(const Chunk& chunk) noexcept {
  return chunk.claim_number.load(std::memory_order_relaxed);
}

// Of those that were claimed later than `after`.
Chunk* oldest_retired(const Ring& ring, std::uint64_t after) noexcept {
  Chunk* oldest = nullptr;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    Chunk& chunk = ring.chunk(i);
    if (chunk.state.load(std::memory_order_acquire) != ChunkState::retired) continue;
    if (number_of(chunk) <= after) continue;
    if (oldest == nullptr || number_of(chunk) < number_of(*oldest)) oldest = &chunk;
  }
  return oldest;
}

// A call that still runs, or a range that is open, will patch its end into its place.
bool is_in_flight(const Chunk& chunk) noexcept {
  return std::any_of(std::begin(chunk.records), std::end(chunk.records), [](const auto& record) {
    return record.begin_ticks.load(std::memory_order_relaxed) != 0 &&
           record.end_ticks.load(std::memory_order_relaxed) == 0;
  });
}

Chunk* take_over_oldest(const Ring& ring) noexcept {
  // Bounded: under contention give up rather than spin in the job's thread.
  constexpr int most_attempts = 8;
  std::uint64_t after = 0;
  for (int attempt = 1; attempt <= most_attempts; ++attempt) {
    Chunk* chunk = oldest_retired(ring, after);
    if (chunk == nullptr) return nullptr;
    after = number_of(*chunk);
    auto expected = ChunkState::retired;
    if (!chunk->state.compare_exchange_strong(expected, ChunkState::owned,
                                              std::memory_order_acquire)) {
      continue;
    }
    // That many old ones in flight are calls that were left by an exception: they never end.
    if (attempt < most_attempts && is_in_flight(*chunk)) {
      retire_chunk(*chunk);
      continue;
    }
    count_overwritten(ring, *chunk);
    clear(*chunk);
    return chunk;
  }
  return nullptr;
}

Chunk* take_free(const Ring& ring) noexcept {
  Header& header = ring.header();
  // A full ring must cost one load, not a scan of all chunks for every event.
  if (header.free_chunks.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::uint64_t count = header.chunk_count;
  const std::uint64_t start = header.next_place.load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < count; ++i) {
    Chunk& chunk = ring.chunk((start + i) % count);
    auto expected = ChunkState::free;
    // Acquire pairs with the release in free_chunk(): the zeroed records are seen.
    if (chunk.state.load(std::memory_order_relaxed) == ChunkState::free &&
        chunk.state.compare_exchange_strong(expected, ChunkState::owned,
                                            std::memory_order_acquire)) {
      header.free_chunks.fetch_sub(1, std::memory_order_relaxed);
      return &chunk;
    }
  }
  return nullptr;
}

}  // namespace

Chunk* claim_chunk(const Ring& ring, std::uint32_t thread_id, const ThreadName& thread_name,
                   bool overwrite) noexcept {
  Chunk* chunk = take_free(ring);
  if (chunk == nullptr && overwrite) chunk = take_over_oldest(ring);
  if (chunk != nullptr) take(ring, *chunk, thread_id, thread_name);
  return chunk;
}

namespace {
// Of this process' ring. Not beside what every recording call reads.
struct alignas(64) Retired {
  std::atomic<bool> any{true};
};
constinit Retired retired;
}  // namespace

void retire_chunk(Chunk& chunk) noexcept {
  chunk.state.store(ChunkState::retired, std::memory_order_release);
  // An exchange, and no store: who takes the note of several threads has to see the chunks of all.
  retired.any.exchange(true, std::memory_order_release);
}

bool take_note_of_retired() noexcept {
  return retired.any.exchange(false, std::memory_order_acquire);
}

namespace {

// Owned by who clears it, so that no overwriting thread takes it meanwhile.
bool take_retired(Chunk& chunk) noexcept {
  auto expected = ChunkState::retired;
  return chunk.state.compare_exchange_strong(expected, ChunkState::owned,
                                             std::memory_order_acquire);
}

bool is_done_with(const Chunk& chunk, std::uint64_t before_ticks) noexcept {
  return std::all_of(std::begin(chunk.records), std::end(chunk.records), [&](const auto& record) {
    const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
    // A call that still runs will patch its end into this very place.
    return begin == 0 ||
           (begin < before_ticks && record.end_ticks.load(std::memory_order_relaxed) != 0);
  });
}

void clear_and_free(const Ring& ring, Chunk& chunk) noexcept {
  clear(chunk);
  chunk.state.store(ChunkState::free, std::memory_order_release);
  ring.header().free_chunks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool free_chunk(const Ring& ring, Chunk& chunk) noexcept {
  if (!take_retired(chunk)) return false;
  clear_and_free(ring, chunk);
  return true;
}

bool free_chunk_before(const Ring& ring, Chunk& chunk, std::uint64_t before_ticks) noexcept {
  if (chunk.state.load(std::memory_order_acquire) != ChunkState::retired) return false;
  if (!is_done_with(chunk, before_ticks) || !take_retired(chunk)) return false;
  // Again, now that nobody can take it: an overwriting thread may have filled it with new records
  // and retired it since it was looked at.
  if (!is_done_with(chunk, before_ticks)) {
    retire_chunk(chunk);
    return false;
  }
  clear_and_free(ring, chunk);
  return true;
}

}  // namespace traceagent::ring
