#pragma once
// A ring in memory that has no file. A child that is forked has the same one.

#include <sys/mman.h>

#include <cstring>
#include <set>
#include <vector>

#include "agent/ring/anchors.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::ring {

class MemoryRing {
 public:
  explicit MemoryRing(std::uint64_t wanted_bytes) : sizes_(divide(wanted_bytes)) {
    memory_ =
        mmap(nullptr, sizes_.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ring_ = format(memory_, sizes_);
  }
  ~MemoryRing() { munmap(memory_, sizes_.file_bytes); }
  MemoryRing(const MemoryRing&) = delete;
  MemoryRing& operator=(const MemoryRing&) = delete;

  const Ring& ring() const noexcept { return ring_; }
  std::uint64_t dropped(DropCause cause) const noexcept {
    return ring_.header().dropped[static_cast<std::size_t>(cause)].load();
  }

 private:
  Sizes sizes_;
  void* memory_;
  Ring ring_;
};

inline void write_record(Chunk& chunk, std::size_t slot, std::uint64_t begin, std::uint64_t end) {
  chunk.records[slot].end_ticks.store(end);
  chunk.records[slot].begin_ticks.store(begin, std::memory_order_release);
}

}  // namespace traceagent::ring
