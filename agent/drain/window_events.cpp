#include "agent/drain/window_events.hpp"

#include <algorithm>
#include <map>

namespace traceagent::drain {
namespace {

using ring::Chunk;

struct UsedChunk {
  std::uint64_t claim_number;  // as it was seen: others claim meanwhile
  const Chunk* chunk;
};

std::vector<UsedChunk> used_chunks(const ring::Ring& ring) {
  std::vector<UsedChunk> chunks;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const Chunk& chunk = ring.chunk(i);
    // Acquire pairs with the claim: what is seen beside the number is this owner's.
    const std::uint64_t number = chunk.claim_number.load(std::memory_order_acquire);
    if (number != 0) chunks.push_back({number, &chunk});
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const UsedChunk& a, const UsedChunk& b) { return a.claim_number < b.claim_number; });
  return chunks;
}

std::string name_in(const Chunk& chunk) {
  const char* end = std::find(chunk.thread_name, std::end(chunk.thread_name), '\0');
  return {chunk.thread_name, end};
}

std::uint64_t begin_of(const event::Record* record) noexcept {
  return record->begin_ticks.load(std::memory_order_relaxed);
}

}  // namespace

std::vector<ThreadEvents> collect(const ring::Ring& ring, std::uint64_t begin_ticks,
                                  std::uint64_t end_ticks) {
  std::vector<ThreadEvents> threads;
  std::map<std::uint32_t, std::size_t> index_of;
  for (const auto& [number, chunk] : used_chunks(ring)) {
    const std::uint32_t thread_id = chunk->thread_id.load(std::memory_order_relaxed);
    const auto [found, is_new] = index_of.try_emplace(thread_id, threads.size());
    if (is_new) threads.push_back({thread_id, {}, {}});
    ThreadEvents& thread = threads[found->second];
    thread.thread_name = name_in(*chunk);  // the newest: threads get their name late
    for (const event::Record& record : chunk->records) {
      // Acquire pairs with publish(): the record's other fields are seen.
      const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
      if (begin >= begin_ticks && begin < end_ticks && begin != 0 &&
          event::is_host_call(record.layout)) {
        thread.records.push_back(&record);
      }
    }
  }
  for (ThreadEvents& thread : threads) {
    const auto earlier = [](const event::Record* a, const event::Record* b) {
      return begin_of(a) < begin_of(b);
    };
    // Out of order only where a signal handler recorded between a claim and its publishing.
    if (!std::is_sorted(thread.records.begin(), thread.records.end(), earlier)) {
      std::stable_sort(thread.records.begin(), thread.records.end(), earlier);
    }
  }
  std::erase_if(threads, [](const ThreadEvents& thread) { return thread.records.empty(); });
  return threads;
}

std::uint64_t count_events(const ring::Ring& ring, std::uint64_t begin_ticks,
                           std::uint64_t end_ticks, std::int64_t begin_ns,
                           std::int64_t end_ns) noexcept {
  const auto is_in_window = [&](const event::Record& record) {
    const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
    if (begin == 0) return false;
    if (event::is_host_call(record.layout)) return begin >= begin_ticks && begin < end_ticks;
    const bool is_work = record.layout == event::Layout::device_work ||
                         record.layout == event::Layout::timed_by_event;
    const auto start_ns = static_cast<std::int64_t>(record.args[0]);
    return is_work && start_ns >= begin_ns && start_ns < end_ns;
  };
  std::uint64_t events = 0;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    events += static_cast<std::uint64_t>(
        std::count_if(std::begin(chunk.records), std::end(chunk.records), is_in_window));
  }
  return events;
}

RetiredChunks free_chunks_before(const ring::Ring& ring, std::uint64_t before_ticks) noexcept {
  RetiredChunks chunks;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    ring::Chunk& chunk = ring.chunk(i);
    if (chunk.state.load(std::memory_order_acquire) != ring::ChunkState::retired) continue;
    ++(free_chunk_before(ring, chunk, before_ticks) ? chunks.freed : chunks.kept);
  }
  return chunks;
}

}  // namespace traceagent::drain
