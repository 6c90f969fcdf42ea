#include "agent/process/clock_anchors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "agent/ring/anchors.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;

class ClockAnchorsTest : public testing::Test {
 protected:
  // Whether one was taken.
  bool take(std::uint64_t now_ns) {
    const std::size_t before = ring::anchors_in(crafted.ring().header()).size();
    anchors.take(crafted.ring(), now_ns);
    return ring::anchors_in(crafted.ring().header()).size() != before;
  }

  drain::CraftedRing crafted;
  ClockAnchors anchors;
};

TEST_F(ClockAnchorsTest, LieAtDoublingDistancesUpToASecond) {
  std::vector<std::uint64_t> taken_ms;
  for (std::uint64_t at_ms = 100; at_ms < 5100; ++at_ms) {
    if (take(at_ms * ms)) taken_ms.push_back(at_ms - 100);
  }
  EXPECT_EQ(taken_ms, (std::vector<std::uint64_t>{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2023,
                                                  3023, 4023}));
}

// The drain thread sleeps for as long as it is told.
TEST_F(ClockAnchorsTest, AreWorthWakingUpForInTheFirstSecond) {
  std::uint64_t now_ns = 100 * ms;
  int turns = 0;
  while (anchors.next_in_ns(now_ns) != UINT64_MAX) {
    ASSERT_LT(++turns, 100);
    now_ns += anchors.next_in_ns(now_ns);
    EXPECT_TRUE(take(now_ns));
    EXPECT_GT(anchors.next_in_ns(now_ns), 0u);
  }
  EXPECT_EQ(now_ns, 611 * ms);
}

TEST_F(ClockAnchorsTest, OneThatIsOverdueIsDueAtOnce) {
  take(100 * ms);
  EXPECT_EQ(anchors.next_in_ns(150 * ms), 0u);
  EXPECT_TRUE(take(150 * ms));
  EXPECT_EQ(anchors.next_in_ns(150 * ms), 2 * ms);
}

}  // namespace
}  // namespace traceagent::process
