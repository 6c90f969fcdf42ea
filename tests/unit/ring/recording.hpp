#pragma once
// What a thread of the job records into a ring of the test's own.

#include <gtest/gtest.h>

#include <cstdint>

#include "agent/ring/writer.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::ring {

// The process's target is one for all tests: each gives it a ring of its own.
class RecordingTest : public testing::Test {
 protected:
  void record_into(const Ring& ring, bool overwrite = false) {
    target.ring = ring;
    target.overwrite = overwrite;
    target.generation.fetch_add(1, std::memory_order_release);
    prepare_thread_exit();
  }
  ~RecordingTest() override {
    target.ring = Ring();
    target.generation.fetch_add(1, std::memory_order_release);
  }
};

inline void record(std::uint64_t begin, std::uint64_t value) {
  event::Record* slot = claim(writer);
  if (slot == nullptr) return;
  slot->args[0] = value;
  publish(*slot, begin);
  slot->end_ticks.store(begin + 1, std::memory_order_release);
}

inline std::uint64_t published(const Ring& ring) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    for (const event::Record& each : ring.chunk(i).records) {
      if (each.begin_ticks.load(std::memory_order_acquire) != 0) ++count;
    }
  }
  return count;
}

}  // namespace traceagent::ring
