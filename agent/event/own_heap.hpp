#pragma once
// The agent's own part of the heap: counted by the library's operator new
// (linking/load_memory.cpp), which is nobody else's. In tools and unit tests it stays at nothing.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace traceagent::event {

struct OwnHeap {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> most_bytes{0};
  // What is asked for above it within a BoundedHeap is refused (std::bad_alloc), and counted.
  std::atomic<std::int64_t> limit_bytes{INT64_MAX};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::int64_t> inherited_bytes{0};  // of the parent's, in a forked child
};
extern constinit OwnHeap own_heap;

// How many BoundedHeap this thread is in.
extern constinit thread_local int heap_bounds __attribute__((tls_model("initial-exec")));

// Work that may go without its memory: it is given up, and said.
class BoundedHeap {
 public:
  BoundedHeap() noexcept { ++heap_bounds; }
  ~BoundedHeap() { --heap_bounds; }
  BoundedHeap(const BoundedHeap&) = delete;
  BoundedHeap& operator=(const BoundedHeap&) = delete;
};

inline bool may_grow_heap(std::size_t size) noexcept {
  if (heap_bounds == 0) [[likely]]
    return true;
  const std::int64_t then =
      own_heap.bytes.load(std::memory_order_relaxed) + static_cast<std::int64_t>(size);
  if (then <= own_heap.limit_bytes.load(std::memory_order_relaxed)) return true;
  own_heap.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

inline void note_heap(std::int64_t change) noexcept {
  const std::int64_t now = own_heap.bytes.fetch_add(change, std::memory_order_relaxed) + change;
  if (now > own_heap.most_bytes.load(std::memory_order_relaxed)) {
    own_heap.most_bytes.store(now, std::memory_order_relaxed);
  }
}

}  // namespace traceagent::event
