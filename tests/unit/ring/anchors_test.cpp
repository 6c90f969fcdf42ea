#include "agent/ring/anchors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tests/unit/ring/each_moment.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::ring {
namespace {

event::ClockAnchor anchor_at(std::uint64_t ticks) { return {ticks, 2 * ticks + 7, ~ticks}; }

bool is_whole(const event::ClockAnchor& anchor) {
  const event::ClockAnchor whole = anchor_at(anchor.ticks);
  return anchor.realtime_ns == whole.realtime_ns && anchor.error_ticks == whole.error_ticks;
}

bool are_good(std::span<const event::ClockAnchor> anchors) {
  return std::all_of(anchors.begin(), anchors.end(), is_whole) &&
         std::is_sorted(anchors.begin(), anchors.end(),
                        [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
}

void fill(Header& header) {
  for (std::uint64_t i = 1; i <= anchor_slots; ++i) add_anchor(header, anchor_at(i * 1000));
}

// 0 in rings of older agents, and any number in a damaged one.
TEST(NominalRate, HasTheErrorThatWasMeasured) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  header.nominal_ns_per_tick = 0.5;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [stated, expected] : {std::pair{1e-5, 1e-5},
                                         {0.002, 0.002},
                                         {0.0, 1e-3},
                                         {-1.0, 1e-3},
                                         {nan, 1e-3},
                                         {1e300, 1e-3}}) {
    header.nominal_rate_error = stated;
    EXPECT_EQ(nominal_rate(header).error, expected);
    EXPECT_EQ(nominal_rate(header).ns_per_tick, 0.5);
  }
}

TEST(Anchors, AreThinnedWhenTheTableIsFull) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    add_anchor(header, anchor_at(i * 1000));
    const auto anchors = anchors_in(header);
    ASSERT_EQ(anchors.back().ticks, i * 1000) << "the newest is there";
    EXPECT_EQ(anchors.front().ticks, 1000u) << "the first stays";
    EXPECT_GE(anchors.size(), std::min<std::size_t>(i, anchor_slots / 2));
    EXPECT_TRUE(are_good(anchors));
  }
}

TEST(Anchors, KeepTheirOrder) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  add_anchor(header, {2000, 1000, 1});
  add_anchor(header, {2000, 1001, 1});
  add_anchor(header, {1000, 500, 1});
  EXPECT_EQ(anchors_in(header).size(), 1u);
}

TEST(Anchors, StayWhereTheClockIsRefusedFromNowOn) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  fill(header);
  add_anchor(header, {1'000'000, 0, 1});
  add_anchor(header, anchor_at(1));
  EXPECT_EQ(anchors_in(header).size(), anchor_slots);
}

// Else all times of a window would be made of one anchor, and a rate that was measured for 200 us.
TEST(Anchors, AreThereAfterAKillAtAnyMoment) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  fill(header);
  const auto add_some = [&] {
    for (std::uint64_t i = 1; i <= 2; ++i) add_anchor(header, anchor_at(1'000'000 + i));
  };
  std::size_t fewest = anchor_slots;
  std::uint64_t latest = 0;
  std::uint64_t bad = 0;
  const auto look = [&] {
    const auto anchors = anchors_in(header);
    fewest = std::min(fewest, anchors.size());
    bad += !are_good(anchors) || anchors.back().ticks < latest || anchors[0].ticks != 1000;
    latest = anchors.back().ticks;
  };
  if (!at_each_moment(add_some, look)) GTEST_SKIP() << "nobody may be traced here";
  EXPECT_EQ(bad, 0u);
  EXPECT_GE(fewest, anchor_slots / 2);
  EXPECT_EQ(latest, 1'000'002u);
}

// While they are copied, others are added, after each instruction one: the table is left and used
// again many times.
TEST(Anchors, AreOfOneMomentForOtherThreads) {
  MemoryRing memory(1 << 20);
  Header& header = memory.ring().header();
  fill(header);
  // In memory that the child shares, beyond what a ring without records uses.
  auto& copied = *reinterpret_cast<CopiedAnchors*>(memory.ring().chunk(0).records);
  std::uint64_t ticks = 100'000;
  constexpr std::uint64_t most = 110'000;
  const auto look = [&] {
    if (ticks < most) add_anchor(header, anchor_at(++ticks));
  };
  if (!at_each_moment([&] { copied = copy_anchors(header); }, look)) {
    GTEST_SKIP() << "nobody may be traced here";
  }
  EXPECT_EQ(ticks, most);
  EXPECT_GE(copied.count, anchor_slots / 2);
  EXPECT_TRUE(are_good({copied.anchors.data(), copied.count}));
}

}  // namespace
}  // namespace traceagent::ring
