#include "agent/step/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace traceagent::step {
namespace {

constexpr double ms = 1e6;
constexpr double look_ns = 20 * ms;

BudgetRules rules_of(double share) {
  BudgetRules rules;
  rules.share = share;
  rules.levels = 5;
  return rules;
}

// A job whose call costs are its level's: a share of the time.
struct Job {
  std::array<double, 6> share_at_level{};
  double spent_ns = 0, passed_ns = 0;
  std::uint64_t now_ns = 5'000'000'000;
  std::uint32_t deepest = 0;
  int changes = 0;

  void run(Budget& budget, double seconds) {
    for (double passed = 0; passed < seconds * 1e9; passed += look_ns) {
      now_ns += static_cast<std::uint64_t>(look_ns);
      const double cost = share_at_level[budget.level()] * look_ns;
      spent_ns += cost;
      passed_ns += look_ns;
      changes += budget.look(now_ns, cost) ? 1 : 0;
      deepest = std::max(deepest, budget.level());
    }
  }
};

TEST(Budget, LeavesACheapJobAlone) {
  Budget budget(rules_of(0.01));
  Job job{{0.009, 0.009, 0.009, 0.009, 0.009, 0.009}};
  job.run(budget, 3600);
  EXPECT_EQ(job.changes, 0);
}

TEST(Budget, LetsAShortBurstThroughWhole) {
  Budget budget(rules_of(0.01));
  // 25 % of 0.3 s are less than 1 % of ten seconds.
  Job job{{0.25, 0.25, 0.25, 0, 0, 0}};
  job.run(budget, 0.3);
  EXPECT_EQ(budget.level(), 0U);
  job.run(budget, 0.3);
  EXPECT_EQ(budget.level(), 3U);
}

TEST(Budget, IsKeptByAJobThatNeverRests) {
  for (const double noise : {0.02, 0.25, 1.0}) {
    for (const std::uint32_t culprit : {1U, 3U, 5U}) {
      Budget budget(rules_of(0.01));
      Job job;
      for (std::uint32_t level = 0; level < culprit; ++level) job.share_at_level[level] = noise;
      job.run(budget, 600);
      EXPECT_EQ(job.deepest, culprit) << noise;
      // The first bucket, and what each look finds out too late.
      EXPECT_LE(job.spent_ns, 0.01 * (job.passed_ns + 10e9) + job.changes * look_ns * noise)
          << noise;
      EXPECT_GE(job.spent_ns, 0.1e9) << noise;
    }
  }
}

TEST(Budget, GoesAsFarAsItMustAndNoFurther) {
  Budget budget(rules_of(0.01));
  Job job{{0.5, 0.4, 0.3, 0.005, 0.005, 0}};
  job.run(budget, 60);
  EXPECT_EQ(job.deepest, 3U);
}

TEST(Budget, GivesDetailBackAfterANoisyStart) {
  Budget budget(rules_of(0.01));
  Job job{{0.5, 0.5, 0.5, 0.5, 0, 0}};
  job.run(budget, 2);
  EXPECT_EQ(budget.level(), 4U);
  job.share_at_level = {};
  job.run(budget, 120);
  EXPECT_EQ(budget.level(), 0U);
}

TEST(Budget, TriesLessAndLessOften) {
  Budget budget(rules_of(0.01));
  Job job{{0.5, 0.5, 0.5, 0, 0, 0}};
  job.run(budget, 600);
  const int early = job.changes;
  job.run(budget, 3000);
  const int late = job.changes - early;
  EXPECT_GE(late, 4);                   // it is tried again …
  EXPECT_LE(late, 2 * 3000 / 300 + 4);  // … every five minutes
}

TEST(Budget, WaitsForAStepToShow) {
  BudgetRules rules = rules_of(0.01);
  rules.settle_ns = 2e9;
  Budget budget(rules);
  Job job{{1, 1, 1, 1, 1, 1}};
  job.run(budget, 2.3);
  EXPECT_EQ(budget.level(), 1U);
  job.run(budget, 2);
  EXPECT_EQ(budget.level(), 2U);
}

TEST(Budget, OfNothingIsNoLimit) {
  Budget budget(rules_of(0));
  Job job{{1, 1, 1, 1, 1, 1}};
  job.run(budget, 60);
  EXPECT_EQ(job.changes, 0);
  EXPECT_FALSE(budget.is_empty());
}

TEST(Budget, TellsWhatACheapJobCosts) {
  Budget budget(rules_of(0.01));
  EXPECT_EQ(budget.recent_share(), 0);
  Job job{{0.009, 0.009, 0.009, 0.009, 0.009, 0.009}};
  job.run(budget, 60);
  // Its bucket is full all the time.
  EXPECT_NEAR(budget.recent_share(), 0.009, 1e-4);
  EXPECT_NEAR(budget.spent_share(), 0.009, 1e-4);
  job.share_at_level = {};
  job.run(budget, 60);
  EXPECT_LT(budget.recent_share(), 1e-4);
}

TEST(Budget, WithoutALimitIsMeasuredToo) {
  Budget budget(rules_of(0));
  Job job{{0.03, 0.03, 0.03, 0.03, 0.03, 0.03}};
  job.run(budget, 60);
  EXPECT_NEAR(budget.recent_share(), 0.03, 1e-4);
}

// One look that finds too much is no reason for a step that is not taken back.
TEST(Budget, GoesDownForTheLastTimeWhereTheCostHasBeenTooMuchForLong) {
  BudgetRules rules = rules_of(0.01);
  rules.last_settle_ns = 10e9;
  Budget calm(rules);
  Job job{{0.9, 0.9, 0.9, 0.9, 0.002, 0}};
  job.run(calm, 0.2);
  ASSERT_EQ(calm.level(), 4U);
  for (int second = 0; second < 40; ++second) {
    job.run(calm, 0.98);
    job.now_ns += static_cast<std::uint64_t>(look_ns);
    EXPECT_FALSE(calm.look(job.now_ns, 0.1 * look_ns)) << "a sample that was far off";
  }
  EXPECT_EQ(job.deepest, 4U);
  Budget busy(rules);
  Job dear{{0.9, 0.9, 0.9, 0.9, 0.05, 0}};
  dear.run(busy, 9);
  EXPECT_EQ(busy.level(), 4U);
  dear.run(busy, 2);
  EXPECT_EQ(dear.deepest, 5U);
}

TEST(Budget, BearsAClockThatStands) {
  Budget budget(rules_of(0.01));
  for (int i = 0; i < 100; ++i) budget.look(7, 1e9);
  EXPECT_EQ(budget.level(), 5U);
  for (int i = 0; i < 100; ++i) budget.look(3, 0);
  EXPECT_EQ(budget.level(), 5U);
}

}  // namespace
}  // namespace traceagent::step
