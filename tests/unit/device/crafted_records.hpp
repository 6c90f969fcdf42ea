#pragma once
// Activity buffers as CUPTI fills them, made of the installed header's structs.

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "agent/device/cupti_functions.hpp"
#include "agent/event/device_record.hpp"
#include "agent/ring/writer.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::device {

#if CUPTI_API_VERSION >= 130000
using NewestKernel = CUpti_ActivityKernel10;
#else
using NewestKernel = CUpti_ActivityKernel9;
#endif

// A buffer, and cuptiActivityGetNextRecord over the one that was walked last.
class CraftedBuffer {
 public:
  template <class Struct>
  CraftedBuffer& add(const Struct& record) {
    starts_.push_back(bytes_.size());
    bytes_.resize(bytes_.size() + sizeof record);
    std::memcpy(bytes_.data() + starts_.back(), &record, sizeof record);
    return *this;
  }
  std::uint8_t* data() {
    walked = this;
    return bytes_.data();
  }
  std::size_t size() const { return bytes_.size(); }

  static CuptiResult next(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
    const auto& starts = walked->starts_;
    std::size_t index = 0;
    if (*record != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<std::uint8_t*>(*record) - buffer);
      while (starts[index] != at) ++index;
      ++index;
    }
    if (index == starts.size() || starts[index] >= valid_bytes) {
      return cupti_result::max_limit_reached;
    }
    *record = buffer + starts[index];
    return cupti_result::success;
  }

 private:
  static inline CraftedBuffer* walked = nullptr;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> starts_;
};

template <class Kernel = NewestKernel>
Kernel crafted_kernel(const char* name, std::uint32_t correlation, std::uint64_t start,
                      std::uint64_t end) {
  Kernel kernel;
  // What was there before must not be read as a field.
  std::memset(&kernel, 0xee, sizeof kernel);
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.registersPerThread = 32;
  kernel.start = start;
  kernel.end = end;
  kernel.deviceId = 1;
  kernel.contextId = 2;
  kernel.streamId = 7;
  kernel.gridX = 64;
  kernel.gridY = 2;
  kernel.gridZ = 1;
  kernel.blockX = 256;
  kernel.blockY = kernel.blockZ = 1;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 512;
  kernel.correlationId = correlation;
  kernel.name = name;
  return kernel;
}

// Records into a ring of its own, as the process would.
class OwnRing {
 public:
  explicit OwnRing(std::uint64_t bytes = 1024 * 1024) : memory_(bytes) {
    ring::target.ring = ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }
  ~OwnRing() {
    ring::target.ring = ring::Ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }
  ring::Ring ring() const { return memory_.ring(); }
  std::uint64_t dropped(ring::DropCause cause) const {
    return ring().header().dropped[static_cast<std::size_t>(cause)].load();
  }
  std::vector<const event::Record*> records() const {
    std::vector<const event::Record*> found;
    for (std::uint64_t i = 0; i < ring().chunk_count(); ++i) {
      for (const event::Record& record : ring().chunk(i).records) {
        if (record.begin_ticks.load() != 0) found.push_back(&record);
      }
    }
    return found;
  }

 private:
  ring::MemoryRing memory_;
};

}  // namespace traceagent::device
