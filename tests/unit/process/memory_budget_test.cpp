#include "agent/process/memory_budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace traceagent::process {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

config::Options options_of(std::uint64_t budget, std::uint64_t ring, std::uint64_t buffers) {
  config::Options options;
  options.budget_memory = budget;
  options.ring_size = ring;
  options.device_buffers = buffers;
  return options;
}

TEST(MemoryBudget, LeavesAloneWhatFits) {
  for (const std::uint64_t budget : {std::uint64_t{0}, 128 * MiB, 107 * MiB}) {
    config::Options options = options_of(budget, 64 * MiB, 16 * MiB);
    EXPECT_EQ(fit_memory(options), "") << budget;
    EXPECT_EQ(options.ring_size, 64 * MiB);
    EXPECT_EQ(options.device_buffers, 16 * MiB);
  }
}

TEST(MemoryBudget, MakesRingAndBuffersFit) {
  for (std::uint64_t budget = 32 * MiB; budget < 106 * MiB; budget += MiB / 2) {
    config::Options options = options_of(budget, 64 * MiB, 16 * MiB);
    const std::uint64_t for_heap = std::max(budget / 4, 16 * MiB);
    EXPECT_NE(fit_memory(options), "") << budget;
    EXPECT_LE(options.ring_size + options.device_buffers + for_heap, budget) << budget;
    EXPECT_GE(options.ring_size, budget / 4) << budget;
    EXPECT_GE(heap_limit_bytes(options, options.ring_size), static_cast<std::int64_t>(for_heap))
        << budget;
  }
}

TEST(MemoryBudget, SaysWhatItChanged) {
  config::Options options = options_of(40 * MiB, 64 * MiB, 1 * MiB);
  EXPECT_EQ(fit_memory(options),
            "budget.memory: 40MiB: ring.size is 23MiB instead of 64MiB: raise it for more");
}

TEST(MemoryBudget, GivesTheBuffersWhatASmallRingLeaves) {
  config::Options options = options_of(64 * MiB, 4 * MiB, 64 * MiB);
  EXPECT_EQ(fit_memory(options),
            "budget.memory: 64MiB: device.buffers is 44MiB instead of 64MiB: raise it for more");
  EXPECT_EQ(options.ring_size, 4 * MiB);
  EXPECT_EQ(options.device_buffers, 44 * MiB);
}

TEST(MemoryBudget, LendsNothingWhereCuptiIsShut) {
  config::Options options = options_of(64 * MiB, 48 * MiB, 64 * MiB);
  options.doors_cupti = false;
  EXPECT_EQ(fit_memory(options), "");
  EXPECT_EQ(heap_limit_bytes(options, 48 * MiB), static_cast<std::int64_t>(16 * MiB));
}

TEST(MemoryBudget, BearsHugeNumbers) {
  config::Options options = options_of(32 * MiB, UINT64_MAX, UINT64_MAX);
  EXPECT_NE(fit_memory(options), "");
  EXPECT_LE(options.ring_size + options.device_buffers, 24 * MiB);
  EXPECT_EQ(heap_limit_bytes(options, UINT64_MAX / 2), 0);
}

}  // namespace
}  // namespace traceagent::process
