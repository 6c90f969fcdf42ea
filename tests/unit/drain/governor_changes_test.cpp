#include "agent/drain/governor_changes.hpp"

#include <gtest/gtest.h>

#include "agent/drain/clock.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

using ring::BudgetKind;

void change(const ring::Ring& ring, std::uint64_t ticks, BudgetKind kind, std::uint32_t level,
            ring::LeftOut left_out, std::uint32_t measured = 31'400) {
  ring::GovernorBlock& block = ring.header().governor;
  const std::uint32_t count = block.change_count.load();
  ring::BudgetChange& slot = block.changes[count % ring::budget_change_slots];
  slot.ticks.store(ticks);
  slot.kind = kind;
  slot.level = level;
  slot.left_out = left_out;
  slot.measured_millionths = measured;
  block.change_count.store(count + 1);
}

std::string object_of(const CraftedRing& crafted, std::uint64_t begin, std::uint64_t end) {
  return governor_object(crafted.ring(), clock_of(crafted.ring()), begin, end).text();
}

constexpr ring::LeftOut launches = 1, streams = 1 << 4;

TEST(GovernorChanges, SayWhatGoesAndWhatComesBack) {
  CraftedRing crafted;
  change(crafted.ring(), 2000, BudgetKind::door, 1, streams);
  change(crafted.ring(), 3000, BudgetKind::door, 3, streams | launches);
  change(crafted.ring(), 4000, BudgetKind::door, 1, streams, 1'000);
  change(crafted.ring(), 5000, BudgetKind::disk, 5, streams | launches);
  const auto changes = governor_changes(crafted.ring());
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(name_of(changes[0], 10'000),
            "TraceAgent leaves out: streams (costs 3.14% of the busiest thread, budget 1%)");
  EXPECT_EQ(name_of(changes[1], 10'000),
            "TraceAgent leaves out: launches (costs 3.14% of the busiest thread, budget 1%)");
  EXPECT_EQ(name_of(changes[2], 10'000),
            "TraceAgent records again: launches (costs 0.1% of the busiest thread, budget 1%)");
  EXPECT_EQ(name_of(changes[3], 10'000), "TraceAgent leaves out: launches (budget.disk is spent)");
}

TEST(GovernorChanges, AWindowTellsOfItsOwnAlone) {
  CraftedRing crafted;
  change(crafted.ring(), 2000, BudgetKind::door, 1, streams);
  change(crafted.ring(), 4000, BudgetKind::door, 0, 0);
  change(crafted.ring(), 6000, BudgetKind::cpu, 1, ring::left_out_device);
  EXPECT_NE(object_of(crafted, 1000, 2000).find(R"("left_out": [], "changes": [])"),
            std::string::npos);
  // What was left out before the window began still is.
  EXPECT_NE(object_of(crafted, 3000, 3500).find(R"("left_out": ["streams"], "changes": [{)"),
            std::string::npos)
      << object_of(crafted, 3000, 3500);
  EXPECT_NE(object_of(crafted, 5000, 5500).find(R"("left_out": [], "changes": [])"),
            std::string::npos)
      << object_of(crafted, 5000, 5500);
  EXPECT_NE(object_of(crafted, 5000, 9000).find(R"("left_out": ["device work"])"),
            std::string::npos)
      << object_of(crafted, 5000, 9000);
}

TEST(GovernorChanges, TheNewestAreKept) {
  CraftedRing crafted;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    change(crafted.ring(), 2000 + i, BudgetKind::door, i % 2 == 0 ? 1 : 0,
           i % 2 == 0 ? streams : 0);
  }
  const auto changes = governor_changes(crafted.ring());
  ASSERT_EQ(changes.size(), ring::budget_change_slots - 1);
  EXPECT_EQ(changes.back().ticks, 2999U);
  // The oldest is told by what came before it, though that was told of last.
  EXPECT_EQ(changes.front().left_out, 0U);
  EXPECT_EQ(changes.front().left_out_before, streams);
  const std::uint64_t first = changes.front().ticks;
  const std::string lacking = object_of(crafted, first - 1, first);
  EXPECT_NE(lacking.find(R"("left_out": ["streams"], "changes": [], "changes_not_kept": 873)"),
            std::string::npos)
      << lacking;
  EXPECT_EQ(object_of(crafted, first, 3000).find("changes_not_kept"), std::string::npos);
}

TEST(GovernorChanges, BearADamagedRing) {
  CraftedRing crafted;
  change(crafted.ring(), UINT64_MAX, static_cast<BudgetKind>(99), 77, UINT32_MAX);
  crafted.ring().header().governor.change_count.store(UINT32_MAX);
  const auto changes = governor_changes(crafted.ring());
  EXPECT_EQ(changes.size(), ring::budget_change_slots - 1);
  for (const GovernorChange& each : changes) EXPECT_LT(name_of(each, 1).size(), 300U);
  EXPECT_LT(object_of(crafted, 0, UINT64_MAX).size(), 100'000U);
}

}  // namespace
}  // namespace traceagent::drain
