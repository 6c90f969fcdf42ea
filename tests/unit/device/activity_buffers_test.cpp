#include "agent/device/activity_buffers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace traceagent::device {
namespace {

constexpr std::size_t mib = 1024 * 1024;

TEST(ActivityBuffersTest, every_buffer_once_and_then_none) {
  ActivityBuffers buffers;
  ASSERT_TRUE(buffers.reserve(16 * mib));
  EXPECT_EQ(buffers.buffer_bytes() * buffers.count(), 16 * mib);
  std::set<std::byte*> taken;
  while (std::byte* buffer = buffers.take()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u);
    taken.insert(buffer);
    buffer[0] = buffer[buffers.buffer_bytes() - 1] = std::byte{1};
  }
  EXPECT_EQ(taken.size(), buffers.count());
  EXPECT_EQ(buffers.lent(), buffers.count());
  EXPECT_EQ(buffers.refused(), 1u);
  buffers.give_back(*taken.begin());
  EXPECT_EQ(buffers.take(), *taken.begin());
  for (std::byte* buffer : taken) buffers.give_back(buffer);
  EXPECT_EQ(buffers.lent(), 0u);
}

TEST(ActivityBuffersTest, sizes_follow_the_option) {
  for (const std::size_t total : {mib, 8 * mib, 100 * mib, 1024 * mib}) {
    ActivityBuffers buffers;
    ASSERT_TRUE(buffers.reserve(total));
    EXPECT_LE(buffers.buffer_bytes() * buffers.count(), total);
    EXPECT_GT(buffers.buffer_bytes() * buffers.count(), total - total / 8);
    EXPECT_GE(buffers.count(), 16u);
  }
}

TEST(ActivityBuffersTest, what_is_not_ours_is_left_alone) {
  ActivityBuffers buffers;
  std::byte other{};
  EXPECT_EQ(buffers.take(), nullptr);
  buffers.give_back(&other);
  ASSERT_TRUE(buffers.reserve(mib));
  EXPECT_FALSE(buffers.owns(&other));
  buffers.give_back(&other);
  EXPECT_EQ(buffers.lent(), 0u);
}

TEST(ActivityBuffersTest, threads_never_get_the_same) {
  ActivityBuffers buffers;
  ASSERT_TRUE(buffers.reserve(mib));
  std::atomic<std::uint64_t> clashes{0}, got{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        std::byte* buffer = buffers.take();
        if (buffer == nullptr) continue;
        ++got;
        if (std::exchange(buffer[0], std::byte{1}) != std::byte{0}) ++clashes;
        buffer[0] = std::byte{0};
        buffers.give_back(buffer);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(clashes, 0u);
  EXPECT_EQ(got, 80000u);
  EXPECT_EQ(buffers.lent(), 0u);
}

}  // namespace
}  // namespace traceagent::device
