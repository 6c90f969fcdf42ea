// What a process that has ended in good order keeps of its ring until somebody has read its end: a
// sixteenth. Workers that a job forks by the hundred would else leave it no memory.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include "agent/ring/ring.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t page_bytes = 4096;

// Of a file system without holes nothing goes.
void give_back(std::byte* from, std::byte* to) noexcept {
  const auto misaligned = reinterpret_cast<std::uintptr_t>(from) % page_bytes;
  if (misaligned != 0) from += page_bytes - misaligned;
  if (from < to) madvise(from, static_cast<std::size_t>(to - from), MADV_REMOVE);
}

// A call that still runs will write its end into its place: a page that is not there any more could
// be refused, which would end the job.
bool has_ended(const event::Record& record) noexcept {
  return record.begin_ticks.load(std::memory_order_acquire) == 0 ||
         record.end_ticks.load(std::memory_order_relaxed) != 0;
}

// NCCL may tell more of an operation that has ended: its door looks at the claim number first, and
// at the record only where that is still its own.
void disown(Chunk& chunk) noexcept { chunk.claim_number.store(0, std::memory_order_release); }

// From then on it is nobody's, and stays so.
bool take(const Ring& ring, Chunk& chunk) noexcept {
  ChunkState expected = ChunkState::free;
  if (chunk.state.compare_exchange_strong(expected, ChunkState::owned, std::memory_order_acquire)) {
    ring.header().free_chunks.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  if (expected != ChunkState::retired ||
      !chunk.state.compare_exchange_strong(expected, ChunkState::owned,
                                           std::memory_order_acquire)) {
    return false;
  }
  if (!std::all_of(std::begin(chunk.records), std::end(chunk.records), has_ended)) {
    retire_chunk(chunk);
    return false;
  }
  disown(chunk);
  return true;
}

}  // namespace

void give_back_memory(const Ring& ring) noexcept {
  const int saved_errno = errno;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    Chunk& chunk = ring.chunk(i);
    auto* const begin = reinterpret_cast<std::byte*>(&chunk);
    if (take(ring, chunk)) give_back(begin + page_bytes, begin + chunk_bytes);
  }
  auto* const names = reinterpret_cast<std::byte*>(ring.names());
  give_back(names + ring.close_names(), names + ring.header().names_bytes);
  errno = saved_errno;
}

}  // namespace traceagent::ring
