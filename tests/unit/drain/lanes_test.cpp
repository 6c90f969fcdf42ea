#include "agent/drain/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace traceagent::drain {
namespace {

TEST(NestingLanes, KeepNestedOnesTogether) {
  NestingLanes lanes;
  EXPECT_EQ(lanes.place(0, 100), 0u);
  EXPECT_EQ(lanes.place(0, 100), 0u) << "equal slices nest";
  EXPECT_EQ(lanes.place(10, 50), 0u);
  EXPECT_EQ(lanes.place(50, 60), 0u) << "begins where the other ends";
  EXPECT_EQ(lanes.place(100, 200), 0u);
  EXPECT_EQ(lanes.lane_count(), 1u);
}

TEST(NestingLanes, SpillWhatOverlaps) {
  NestingLanes lanes;
  EXPECT_EQ(lanes.place(0, 100), 0u);
  EXPECT_EQ(lanes.place(50, 150), 1u);
  EXPECT_EQ(lanes.place(60, 160), 2u);
  EXPECT_EQ(lanes.place(70, 90), 0u);
  EXPECT_EQ(lanes.place(100, 300), 0u);
}

TEST(NestingLanes, PlaceSlicesWithoutLength) {
  NestingLanes lanes;
  EXPECT_EQ(lanes.place(5, 5), 0u);
  EXPECT_EQ(lanes.place(5, 5), 0u);
  EXPECT_EQ(lanes.place(5, 9), 0u);
  EXPECT_EQ(lanes.place(7, 7), 0u);
}

struct Slice {
  std::int64_t begin, end;
};

bool nest(const Slice& a, const Slice& b) {
  if (a.end <= b.begin || b.end <= a.begin) return true;
  return (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end);
}

TEST(NestingLanes, WhateverIsPlacedNests) {
  std::mt19937 random(20261120);
  for (int round = 0; round < 200; ++round) {
    std::vector<Slice> slices(2 + random() % 60);
    for (Slice& slice : slices) {
      slice.begin = static_cast<std::int64_t>(random() % 100);
      slice.end = slice.begin + static_cast<std::int64_t>(random() % 40);
    }
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
    NestingLanes lanes;
    std::vector<std::vector<Slice>> placed;
    for (const Slice& slice : slices) {
      const std::size_t lane = lanes.place(slice.begin, slice.end);
      placed.resize(std::max(placed.size(), lane + 1));
      for (const Slice& other : placed[lane]) {
        ASSERT_TRUE(nest(slice, other))
            << "round " << round << ": [" << slice.begin << "," << slice.end << ") with ["
            << other.begin << "," << other.end << ")";
      }
      placed[lane].push_back(slice);
    }
    EXPECT_EQ(placed.size(), lanes.lane_count());
  }
}

TEST(NestingLanes, AreBounded) {
  NestingLanes lanes;
  for (std::int64_t i = 0; i < 5000; ++i) lanes.place(i, 100'000 + i);
  EXPECT_LE(lanes.lane_count(), 512u);
}

TEST(SpillTid, MeetsNoOtherThread) {
  constexpr std::int64_t largest_thread = (1 << 22) - 1;
  EXPECT_EQ(spill_tid(77, 0), 77);
  EXPECT_EQ(spill_tid(77, 2), 20'000'077);
  EXPECT_GT(spill_tid(1, 1), largest_thread);
  EXPECT_GT(process_ranges_tid, largest_thread);
}

}  // namespace
}  // namespace traceagent::drain
