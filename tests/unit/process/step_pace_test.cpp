#include "agent/process/step_pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;

// A look every `period_ms`, for a minute and a half, at steps of `step_ms` that began `before_ms`
// before the first: the shortest that a step seemed to take.
std::uint64_t shortest_ms(std::uint64_t step_ms, std::uint64_t period_ms, std::uint64_t before_ms) {
  StepPace pace;
  std::uint64_t shortest = UINT64_MAX;
  for (std::uint64_t at_ms = before_ms; at_ms < before_ms + 90'000; at_ms += period_ms) {
    pace.look(at_ms / step_ms, 5 * ms + at_ms * ms);
    if (pace.step_ns() != 0) shortest = std::min(shortest, pace.step_ns() / ms);
  }
  return shortest;
}

TEST(StepPace, IsOfWholeSteps) {
  for (const std::uint64_t before_ms : {20'000, 39'990, 59'000, 100'000}) {
    SCOPED_TRACE(before_ms);
    EXPECT_GE(shortest_ms(20'000, 100, before_ms), 19'900u);
    EXPECT_GE(shortest_ms(300, 100, before_ms), 200u);
    EXPECT_GE(shortest_ms(3, 100, before_ms), 2u);
  }
}

TEST(StepPace, IsNotKnownBeforeAWholeOne) {
  StepPace pace;
  pace.look(7, 1000 * ms);
  EXPECT_EQ(pace.step_ns(), 0u);
  pace.look(8, 1001 * ms);
  EXPECT_EQ(pace.step_ns(), 0u) << "what was left of the seventh";
  pace.look(8, 1500 * ms);
  EXPECT_EQ(pace.step_ns(), 0u);
  EXPECT_EQ(pace.waited_ns(), 499 * ms);
  pace.look(9, 2001 * ms);
  EXPECT_EQ(pace.step_ns(), 1000 * ms);
}

TEST(StepPace, IsKnownAtOnceOfQuickSteps) {
  StepPace pace;
  pace.look(8, 1000 * ms);
  pace.look(18, 1005 * ms);
  EXPECT_EQ(pace.step_ns(), ms / 2);
}

TEST(StepPace, FollowsAJobThatBecomesSlow) {
  StepPace pace;
  std::uint64_t at_ms = 0, steps = 1;
  for (; steps < 3000; ++steps) pace.look(steps, (at_ms += 10) * ms);
  EXPECT_EQ(pace.step_ns(), 10 * ms);
  for (int i = 0; i < 10; ++i) pace.look(++steps, (at_ms += 2000) * ms);
  EXPECT_EQ(pace.step_ns(), 2000 * ms);
}

}  // namespace
}  // namespace traceagent::process
