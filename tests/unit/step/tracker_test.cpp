#include "agent/step/tracker.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace traceagent::step {
namespace {

struct Seen final : StepListener {
  struct Step {
    std::uint64_t number, begin, end;
    bool operator==(const Step&) const = default;
  };
  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    steps.push_back({step, ticks, 0});
  }
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override {
    EXPECT_EQ(steps.back().number, step);
    steps.back().end = ticks;
  }
  void on_step_retracted(std::uint64_t step) noexcept override {
    EXPECT_EQ(steps.back().number, step);
    steps.pop_back();
  }
  void on_no_step_found(std::uint64_t ticks) noexcept override { gave_up = ticks; }
  std::vector<Step> steps;
  std::uint64_t gave_up = 0;
};

MarkSpecification mark_of(std::string_view text) { return config::parse_step_mark(text).mark; }

using Steps = std::vector<Seen::Step>;

void begin_range(Tracker& tracker, std::string_view name, std::uint64_t ticks) {
  tracker.range_begin(tracker.step_name(name), ticks);
}
void end_range(Tracker& tracker, std::string_view name, std::uint64_t ticks) {
  tracker.range_end(tracker.step_name(name), ticks);
}

TEST(Tracker, FollowsRangesOfAName) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:train"), seen);
  EXPECT_EQ(tracker.interest(), interest_ranges);
  begin_range(tracker, "train 41", 10);
  begin_range(tracker, "forward", 11);
  end_range(tracker, "forward", 12);
  end_range(tracker, "train 41", 20);
  begin_range(tracker, "train 42", 30);
  end_range(tracker, "train 42", 40);
  EXPECT_EQ(seen.steps, (Steps{{0, 10, 20}, {1, 30, 40}}));
}

TEST(Tracker, EndsARangeThatIsNeverPoppedAtTheNext) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:train"), seen);
  for (std::uint64_t i = 1; i <= 3; ++i) begin_range(tracker, "train", 10 * i);
  EXPECT_EQ(seen.steps, (Steps{{0, 10, 20}, {1, 20, 30}, {2, 30, 0}}));
}

TEST(Tracker, CountsNestedRangesOnce) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:step"), seen);
  begin_range(tracker, "step", 1);
  end_range(tracker, "step", 2);
  begin_range(tracker, "step", 3);
  begin_range(tracker, "step", 4);
  end_range(tracker, "step", 5);
  end_range(tracker, "step", 6);
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 2}, {1, 3, 6}}));
}

TEST(Tracker, CountsMarks) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:tick"), seen);
  for (std::uint64_t i = 1; i <= 3; ++i) tracker.mark(tracker.step_name("tick"), 10 * i);
  EXPECT_EQ(seen.steps, (Steps{{0, 10, 20}, {1, 20, 30}, {2, 30, 0}}));
}

TEST(Tracker, FollowsTheFirstThreadThatUsedTheRange) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:step"), seen);
  begin_range(tracker, "step", 1);
  std::thread([&] {
    begin_range(tracker, "step", 2);
    end_range(tracker, "step", 3);
  }).join();
  end_range(tracker, "step", 4);
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 4}}));
}

TEST(Tracker, ChangesThreadWhenTheFirstIsGone) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:step"), seen);
  std::thread([&] {
    begin_range(tracker, "step", 1);
    end_range(tracker, "step", 2);
  }).join();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    begin_range(tracker, "step", 10 * i);
    end_range(tracker, "step", 10 * i + 5);
  }
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 2}, {1, 40, 45}, {2, 50, 55}}));
}

TEST(Tracker, EndsARangeThatAnotherThreadEnds) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:step"), seen);
  begin_range(tracker, "step", 1);
  end_range(tracker, "step", 2);
  begin_range(tracker, "step", 3);
  std::thread([&] {
    begin_range(tracker, "step", 4);
    end_range(tracker, "step", 5);  // its own
    end_range(tracker, "step", 6);
  }).join();
  begin_range(tracker, "step", 7);
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 2}, {1, 3, 6}, {2, 7, 0}}));
}

// Their ends are not the step's.
TEST(Tracker, IsNotEndedByAnotherThreadsRanges) {
  Seen seen;
  Tracker tracker(mark_of("nvtx:step"), seen);
  begin_range(tracker, "step", 1);
  std::thread([&] { begin_range(tracker, "step", 2); }).join();
  std::thread([&] { end_range(tracker, "step", 3); }).join();
  end_range(tracker, "step", 4);
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 4}}));
}

TEST(Tracker, CountsEveryNthCall) {
  Seen seen;
  Tracker tracker(mark_of("call:ncclAllReduce:3"), seen);
  EXPECT_EQ(tracker.interest(), interest_calls);
  EXPECT_EQ(tracker.called_function(), "ncclAllReduce");
  for (std::uint64_t i = 0; i < 8; ++i) {
    tracker.call("ncclAllReduce", i);
    tracker.call("ncclBroadcast", i);
  }
  EXPECT_EQ(seen.steps, (Steps{{0, 0, 3}, {1, 3, 6}, {2, 6, 0}}));
}

TEST(Tracker, CutsTimeIntoSlices) {
  Seen seen;
  Tracker tracker(mark_of("every:100ms"), seen);
  EXPECT_EQ(tracker.interest(), 0U);
  tracker.poll(1, 1'000'000'000);
  tracker.poll(2, 1'050'000'000);
  tracker.poll(3, 1'100'000'000);
  tracker.poll(4, 1'350'000'000);  // the drain was late: slices keep to the clock
  EXPECT_EQ(seen.steps, (Steps{{0, 1, 3}, {1, 3, 4}, {3, 4, 0}}));
}

TEST(Tracker, PrefersAKnownRangeWhileNothingIsLocked) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen);
  EXPECT_EQ(tracker.interest(), interest_collectives | interest_launches |
                                    interest_synchronisations | interest_copies | interest_ranges);
  tracker.collective(1, 1, 5);
  end_range(tracker, "train_step", 6);  // began before the agent was there
  begin_range(tracker, "warm-up", 7);
  begin_range(tracker, "Train_Step 3", 10);
  end_range(tracker, "Train_Step 3", 20);
  EXPECT_EQ(seen.steps, (Steps{{0, 10, 20}}));
  EXPECT_EQ(tracker.interest(), interest_ranges);
  EXPECT_EQ(tracker.description(), "auto: nvtx range train_step");
}

TEST(Tracker, DescribesTimesAsTheyAreGiven) {
  Seen seen;
  EXPECT_EQ(Tracker(mark_of("every:1500us"), seen).description(), "every: 1500us");
  Tracker tracker(mark_of("auto"), seen, 500'000'000);
  tracker.launch(1, 1);
  tracker.poll(2, 1'000'000'000);
  tracker.poll(3, 2'000'000'000);
  EXPECT_NE(tracker.description().find("was found within 500ms"), std::string::npos)
      << tracker.description();
}

std::uint64_t train(Tracker& tracker, int steps, std::uint64_t ticks) {
  for (int step = 0; step < steps; ++step) {
    tracker.copy_to_device(ticks++);
    for (int i = 0; i < 20; ++i) tracker.launch(7, ticks++);
    for (std::uint64_t bucket = 0; bucket < 4; ++bucket) tracker.collective(bucket, 1, ticks++);
    tracker.synchronise(ticks++);
  }
  return ticks;
}

TEST(Tracker, LocksOnCollectivesAndThenAsksForThemOnly) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen);
  const std::uint64_t ticks = train(tracker, 20, 0);
  ASSERT_EQ(seen.steps.size(), 12U);
  EXPECT_EQ(seen.steps[0], (Seen::Step{8, 8 * 26 + 21, 9 * 26 + 21}));
  EXPECT_EQ(tracker.description(),
            "auto: period of 4 collectives; locked at step 8 after 33 calls");
  EXPECT_EQ(tracker.interest() & interest_ranges, 0U);
  train(tracker, 80, ticks);
  EXPECT_EQ(tracker.interest(), interest_collectives);
}

TEST(Tracker, FallsBackToSlicesAndSaysSo) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen, 2'000'000'000);
  tracker.poll(1, 1'000'000'000);
  tracker.poll(2, 60'000'000'000);
  EXPECT_TRUE(seen.steps.empty());  // nothing has happened that could be a step
  tracker.launch(1, 3);
  tracker.poll(4, 61'000'000'000);
  tracker.poll(5, 62'000'000'000);
  EXPECT_TRUE(seen.steps.empty());
  EXPECT_EQ(seen.gave_up, 0U);
  tracker.poll(6, 63'000'000'000);
  tracker.poll(7, 64'000'000'000);
  EXPECT_EQ(seen.steps, (Steps{{0, 6, 7}, {1, 7, 0}}));
  EXPECT_EQ(seen.gave_up, 6U) << "before the first of them";
  EXPECT_EQ(tracker.interest(), 0U);
  EXPECT_NE(tracker.description().find("fell back to every 1 s"), std::string::npos);
}

TEST(Tracker, MakesSlicesWhereTheBudgetLeavesTheCollectivesOut) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen);
  const std::uint64_t ticks = train(tracker, 20, 0);
  tracker.leave_out(interest_launches);
  tracker.poll(ticks, 1'000'000'000);
  EXPECT_NE(tracker.interest(), 0U) << "the launches are not what the steps are found by";
  tracker.leave_out(interest_launches | interest_collectives);
  tracker.poll(ticks + 1, 2'000'000'000);
  tracker.poll(ticks + 2, 3'000'000'000);
  EXPECT_EQ(tracker.interest(), 0U);
  ASSERT_GE(seen.steps.size(), 3U);
  EXPECT_EQ(seen.steps[seen.steps.size() - 2], (Seen::Step{20, ticks + 1, ticks + 2}))
      << "the numbers go on";
  EXPECT_EQ(tracker.description(),
            "auto: period of 4 collectives; locked at step 8 after 33 calls; every 1 s since "
            "budget.overhead left out the collectives");
}

TEST(Tracker, GivesTheSearchUpWhereTheBudgetLeavesTheCollectivesOut) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen);
  tracker.collective(1, 1, 5);
  tracker.leave_out(interest_launches | interest_collectives);
  tracker.poll(6, 1'000'000'000);
  EXPECT_EQ(seen.gave_up, 6U);
  EXPECT_EQ(seen.steps, (Steps{{0, 6, 0}}));
  EXPECT_EQ(tracker.description(),
            "auto: every 1 s since budget.overhead left out the collectives");
}

TEST(Tracker, LosesNoStepWhenOtherThreadsCallAtTheSameTime) {
  Seen seen;
  Tracker tracker(mark_of("auto"), seen);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  const auto call_meanwhile = [&] {
    for (std::uint64_t ticks = 0; !stop.load(); ++ticks) {
      tracker.copy_to_device(ticks);
      begin_range(tracker, "forward", ticks);
      end_range(tracker, "forward", ticks);
      tracker.poll(ticks, ticks);
      if (ticks % 16 == 0) std::this_thread::yield();
    }
  };
  constexpr std::uint64_t steps = 500;
  // Locked and past its probation: a copy between any two buckets would make each of them look like
  // a step, and on a busy machine there is one.
  constexpr std::uint64_t calm_steps = 300;
  std::uint64_t dropped_in_training = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (int i = 0; step == calm_steps && i < 3; ++i) others.emplace_back(call_meanwhile);
    for (std::uint64_t bucket = 0; bucket < 4; ++bucket) {
      tracker.launch(9, step);
      const std::uint64_t before = tracker.dropped();
      tracker.collective(bucket, 1, 10 * step + bucket);
      dropped_in_training += tracker.dropped() - before;
    }
    tracker.synchronise(step);
    // A holder that the scheduler stops must not make the log overflow in this test.
    while (tracker.has_backlog()) std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : others) thread.join();
  tracker.poll(0, 0);
  ASSERT_EQ(dropped_in_training, 0U);
  ASSERT_FALSE(seen.steps.empty());
  EXPECT_EQ(seen.steps.back().number, steps - 1);
  for (const auto& step : seen.steps) ASSERT_EQ(step.begin, 10 * step.number);
}

}  // namespace
}  // namespace traceagent::step
