#include "tools/selection/step_window.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace traceagent::tools {
namespace {

struct Began {
  std::size_t file;
  std::int64_t rank;
  std::int64_t number;
  std::int64_t ns;
};

StepWindow window_of(const std::vector<Began>& steps, const WantedSteps& wanted) {
  StepsOfRanks all;
  for (const Began& each : steps) {
    all[{each.file, each.rank}].add({each.number, each.ns}, wanted);
  }
  return step_window(all, wanted);
}

TEST(StepWindow, IsThatOfTheFirstRanksToBegin) {
  const StepWindow window =
      window_of({{0, 0, 6, 5}, {0, 0, 7, 10}, {0, 0, 9, 30}, {1, 1, 7, 9}, {1, 1, 9, 31}}, {7, 9});
  ASSERT_TRUE(window.from && window.behind);
  EXPECT_EQ(window.from->step.begin_ns, 9);
  EXPECT_EQ(window.from->file, 1U);
  EXPECT_EQ(window.behind->step.begin_ns, 30);
  EXPECT_EQ(window.before, 6);
  EXPECT_FALSE(window.counted_otherwise);
}

TEST(StepWindow, IsNoneWhereARankCountsOtherwise) {
  // It is behind the last step before the other one begins the first.
  const std::vector<Began> ahead = {{0, 0, 10, 2}, {0, 0, 11, 3}, {0, 0, 12, 4}, {1, 7, 12, 1}};
  const StepWindow window = window_of(ahead, {10, 12});
  ASSERT_TRUE(window.counted_otherwise);
  EXPECT_EQ(window.counted_otherwise->rank, 7);
  EXPECT_EQ(window.counted_otherwise->file, 1U);
  EXPECT_EQ(window.counted_otherwise->step.number, 12);
  // Also where its steps are larger than the other one's last.
  EXPECT_TRUE(window_of({{0, 0, 10, 2}, {0, 0, 12, 4}, {1, 1, 50, 2}}, {10, 12}).counted_otherwise);
  EXPECT_FALSE(window_of(ahead, {12, 14}).counted_otherwise);
}

// Each cycle of a job that was started again in another file: its count has begun anew.
TEST(StepWindow, OfARankThatBeganAnewIsInTheLaterFile) {
  const StepWindow window = window_of({{0, 0, 5, 1},
                                       {0, 0, 20, 2},
                                       {1, 0, 0, 100},
                                       {1, 0, 5, 105},
                                       {2, 1, 5, 3},
                                       {3, 1, 1, 101},
                                       {3, 1, 5, 106}},
                                      {0, 5});
  ASSERT_TRUE(window.from && window.behind);
  EXPECT_EQ(window.from->step.begin_ns, 100);
  EXPECT_EQ(window.behind->step.begin_ns, 105);
  EXPECT_FALSE(window.counted_otherwise);
}

TEST(StepWindow, WithoutAWantedStepTellsTheNearest) {
  const StepWindow window = window_of({{0, 0, 3, 1}, {0, 0, 9, 5}}, {4, 6});
  EXPECT_EQ(window.before, 3);
  ASSERT_TRUE(window.from);
  EXPECT_EQ(window.from->step.number, 9);
  EXPECT_FALSE(window.counted_otherwise);
}

}  // namespace
}  // namespace traceagent::tools
