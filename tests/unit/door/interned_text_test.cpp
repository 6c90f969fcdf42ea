#include "agent/door/interned_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

std::uint64_t names_used(const Recording& recording) {
  return recording.ring().header().names_used.load();
}

TEST(InternedText, IsStoredOnce) {
  Recording recording;
  const std::uint32_t offset = intern("forward");
  EXPECT_EQ(recording.ring().name(offset), "forward");
  EXPECT_EQ(intern(std::string("forward")), offset);
  EXPECT_NE(intern("backward"), offset);
  EXPECT_EQ(intern(""), 0u);
}

TEST(InternedText, LongerThanANameMayBeIsStoredOnceToo) {
  Recording recording;
  const std::string text(10'000, 'x');
  const std::uint32_t offset = intern(text);
  const std::uint64_t used = names_used(recording);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(intern(text), offset);
  EXPECT_EQ(names_used(recording), used);
  EXPECT_EQ(recording.ring().name(offset), text.substr(0, 4000));
}

TEST(InternedText, MoreTextsThanTheTableHoldsAreAllThere) {
  Recording recording(32 << 20);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = "iteration " + std::to_string(i);
    ASSERT_EQ(recording.ring().name(intern(text)), text);
  }
}

TEST(InternedText, WhatComesAgainIsStoredOnceBesideMoreThanTheTableHolds) {
  Recording recording(32 << 20);
  for (int i = 0; i < 100'000; ++i) intern("sample " + std::to_string(i));
  for (int i = 0; i < 100; ++i) intern("late " + std::to_string(i));
  const std::uint64_t used = names_used(recording);
  for (int i = 0; i < 10'000; ++i) intern("late " + std::to_string(i % 100));
  // Two of them may be in each other's way.
  EXPECT_LT(names_used(recording) - used, 10'000u);
}

TEST(InternedText, AFullAreaGivesNoNames) {
  Recording recording;
  for (int i = 0; i < 10'000; ++i) intern("a text of some length " + std::to_string(i));
  EXPECT_EQ(intern("one more that is too long for what little room is left"), 0u);
  EXPECT_GT(recording.dropped(ring::DropCause::names_full), 0u);
  EXPECT_EQ(recording.ring().name(intern("a text of some length 0")), "a text of some length 0");
}

TEST(InternedText, TextsOfRangesLeaveRoomForKernels) {
  Recording recording;
  for (int i = 0; i < 100'000; ++i) intern_of_range("aten::mul, seq = " + std::to_string(i));
  const std::string kernels(recording.ring().header().names_bytes / 32, 'k');
  for (int i = 0; i < 4; ++i) EXPECT_NE(intern(std::to_string(i) + kernels), 0u) << i;
  const std::string first = "aten::mul, seq = 0";
  EXPECT_EQ(recording.ring().name(intern_of_range(first)), first);
  EXPECT_EQ(intern_of_range("late"), 0u);
}

TEST(InternedText, ARangeWithoutATextIsCountedWhereAWindowIsOpen) {
  Recording recording;
  for (int i = 0; i < 10'000; ++i) intern_of_range("a text of some length " + std::to_string(i));
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 0u);
  ring::Header& header = recording.ring().header();
  header.window_count = 1;
  header.windows[0].state = ring::WindowState::open;
  EXPECT_EQ(intern_of_range("in the window"), 0u);
  EXPECT_NE(intern_of_range("a text of some length 0"), 0u);
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 1u);
  header.windows[0].state = ring::WindowState::closed;
  EXPECT_EQ(intern_of_range("after it"), 0u);
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 1u);
}

TEST(InternedText, ManyThreadsGetTheTextTheyAskedFor) {
  Recording recording(8 << 20);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const std::string text = "range " + std::to_string(i % 500);
        if (recording.ring().name(intern(text)) != text) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace traceagent::door
