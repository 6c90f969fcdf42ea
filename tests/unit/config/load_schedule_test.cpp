#include <gtest/gtest.h>

#include "config/options.hpp"
#include "tests/unit/config/loaded_from.hpp"

namespace traceagent::config {
namespace {

TEST(LoadSchedule, TheCompactSchedule) {
  constexpr auto compact = "TRACEAGENT_SCHEDULE=skip_first=10,wait=5,warmup=1,active=3,repeat=2";
  EXPECT_EQ(schedule_of(from_variables({compact}).options), (Schedule{10, 5, 1, 3, 2}));
  EXPECT_EQ(schedule_of(from_yaml("schedule: \"skip_first=10, wait=5, active=3\"\n").options),
            (Schedule{10, 5, 1, 3, 1}));
  // What the variable does not name stays as the file has it; a single variable is more exact.
  const Loaded mixed =
      from_yaml("schedule: {skip_first: 10, wait: 5}\n",
                {"TRACEAGENT_SCHEDULE=wait=6, active=2,", "TRACEAGENT_SCHEDULE_ACTIVE=3"});
  EXPECT_EQ(lines_of(mixed), Lines{});
  EXPECT_EQ(schedule_of(mixed.options), (Schedule{10, 6, 1, 3, 1}));
}

TEST(LoadSchedule, ProblemsOfTheCompactSchedule) {
  EXPECT_EQ(lines_of(from_variables({"TRACEAGENT_SCHEDULE=skip_frist=1,wait,active=x"})),
            (Lines{"unknown option: TRACEAGENT_SCHEDULE: \"skip_frist\": the nearest is "
                   "skip_first; ignored",
                   "bad value: TRACEAGENT_SCHEDULE: \"wait\": the number is missing, such as in "
                   "wait=1; using the default 0",
                   "bad value: TRACEAGENT_SCHEDULE: schedule.active: \"x\": not a whole number "
                   "from 0; using the default 4"}));
}

TEST(LoadSchedule, AnImpossibleScheduleIsReplacedWhole) {
  const Loaded loaded = from_yaml("schedule:\n  wait: 7\n  active: 0\n");
  EXPECT_EQ(lines_of(loaded),
            (Lines{"impossible schedule: job.yaml:2, job.yaml:3: "
                   "skip_first=0,wait=7,warmup=1,active=0,repeat=1: active is 0, so that nothing "
                   "would ever be recorded; using the default "
                   "skip_first=0,wait=0,warmup=1,active=4,repeat=1"}));
  EXPECT_EQ(schedule_of(loaded.options), Schedule{});
  const Loaded two_places = from_yaml("schedule: {active: 0}\n", {"TRACEAGENT_SCHEDULE=warmup=0"});
  ASSERT_EQ(two_places.problems.size(), 1U);
  EXPECT_TRUE(two_places.problems[0].line.starts_with(
      "impossible schedule: TRACEAGENT_SCHEDULE, job.yaml:1: "));
}

// It begins anew with each epoch, and would never come to its first active step.
TEST(LoadSchedule, EpochsThatEndBeforeTheScheduleRecordsAreLeftOut) {
  const Loaded loaded = from_yaml("schedule: {skip_first: 45, wait: 4}\nstep: {per_epoch: 50}\n");
  EXPECT_EQ(
      lines_of(loaded),
      (Lines{"impossible schedule: job.yaml:2: "
             "skip_first=45,wait=4,warmup=1,active=4,repeat=1: it begins anew with each epoch, "
             "and an epoch has only 50 steps (step.per_epoch); using step.per_epoch 0"}));
  EXPECT_EQ(loaded.options.step_per_epoch, 0U);
  EXPECT_EQ(schedule_of(loaded.options), (Schedule{45, 4, 1, 4, 1}));
  const Loaded fits = from_yaml("schedule: {skip_first: 45, wait: 4}\nstep: {per_epoch: 51}\n");
  EXPECT_EQ(lines_of(fits), Lines{});
  EXPECT_EQ(fits.options.step_per_epoch, 51U);
  // Even with the default schedule, whose first step is a warm-up.
  EXPECT_EQ(from_variables({"TRACEAGENT_STEP_PER_EPOCH=1"}).options.step_per_epoch, 0U);
}

}  // namespace
}  // namespace traceagent::config
