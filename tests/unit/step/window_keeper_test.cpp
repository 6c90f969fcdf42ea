#include "agent/step/window_keeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::step {
namespace {

using ring::WindowState;

struct Seen {
  std::uint64_t first, last, begin, end;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class WindowKeeperTest : public testing::Test {
 protected:
  WindowKeeper& keeper(const config::Schedule& schedule, std::uint64_t per_epoch = 0) {
    keeper_ = std::make_unique<WindowKeeper>(memory_.ring(), schedule, per_epoch);
    return *keeper_;
  }
  ~WindowKeeperTest() override { set_all_modes(Mode::pass); }

  // Step k lasts from 100 k to 100 k + 90. Returns the state within each.
  std::vector<State> run_steps(std::uint64_t first, std::uint64_t last) {
    std::vector<State> states;
    for (std::uint64_t step = first; step <= last; ++step) {
      keeper_->on_step_begin(step, step * 100);
      states.push_back(keeper_->state());
      keeper_->on_step_end(step, step * 100 + 90);
    }
    return states;
  }

  // The windows that are to be written; they are marked as written, as the drain would.
  std::vector<Seen> closed() {
    std::vector<Seen> windows;
    for (ring::Window& window : header().windows) {
      if (window.state.load() != WindowState::closed) continue;
      windows.push_back(
          {window.first_step, window.last_step, window.begin_ticks, window.end_ticks});
      window.state.store(WindowState::written);
    }
    return windows;
  }
  ring::Header& header() { return memory_.ring().header(); }

  ring::MemoryRing memory_{1 << 20};
  std::unique_ptr<WindowKeeper> keeper_;
};

constexpr State wait = State::wait, warmup = State::warmup, active = State::active,
                off = State::off;

TEST_F(WindowKeeperTest, FollowsTheSchedule) {
  keeper({.skip_first = 1, .wait = 1, .warmup = 1, .active = 2, .repeat = 1});
  EXPECT_EQ(run_steps(0, 6), (std::vector<State>{wait, wait, warmup, active, active, off, off}));
  EXPECT_EQ(closed(), (std::vector<Seen>{{3, 4, 300, 490}}));
  EXPECT_EQ(keeper_->schedule_shift(), 0u);
}

TEST_F(WindowKeeperTest, IsOffWithTheEndOfTheLastActiveStep) {
  keeper({.warmup = 0, .active = 1, .repeat = 1});
  keeper_->on_step_begin(0, 0);
  EXPECT_EQ(keeper_->state(), active);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::record);
  keeper_->on_step_end(0, 90);
  EXPECT_EQ(keeper_->state(), off);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::pass);
  EXPECT_EQ(mode_of(CallClass::collective), Mode::pass);
}

TEST_F(WindowKeeperTest, EdgesAreInTheOrderOfTime) {
  keeper({.warmup = 0, .active = 2, .repeat = 1});
  keeper_->on_step_begin(0, 100);
  keeper_->on_step_end(0, 90);
  keeper_->on_step_begin(1, 90);
  EXPECT_EQ(header().steps[0].end_ticks.load(), 100u);
  EXPECT_EQ(header().steps[1].begin_ticks.load(), 100u);
  keeper_->on_step_end(1, 120);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 1, 100, 120}}));
}

TEST_F(WindowKeeperTest, EachCycleIsAWindow) {
  keeper({.wait = 1, .warmup = 0, .active = 2, .repeat = 3});
  run_steps(0, 12);
  EXPECT_EQ(closed(), (std::vector<Seen>{{1, 2, 100, 290}, {4, 5, 400, 590}, {7, 8, 700, 890}}));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(header().windows[i].cycle, i);
  EXPECT_EQ(keeper_->state(), off);
}

TEST_F(WindowKeeperTest, RepeatsForEver) {
  keeper({.wait = 0, .warmup = 0, .active = 1, .repeat = 0});
  std::size_t windows = 0;
  for (std::uint64_t step = 0; step < 1000; ++step) {
    run_steps(step, step);
    windows += closed().size();
  }
  EXPECT_EQ(windows, 1000u) << "slots are used again";
  EXPECT_EQ(header().window_count.load(), 1000u);
}

TEST_F(WindowKeeperTest, SkipsACycleWhenNoWindowWasWritten) {
  keeper({.wait = 0, .warmup = 0, .active = 1, .repeat = 0});
  run_steps(0, 99);
  const auto windows = closed();
  ASSERT_EQ(windows.size(), ring::window_slots);
  EXPECT_EQ(windows.back().first, ring::window_slots - 1) << "none that waits was overwritten";
  run_steps(100, 100);
  EXPECT_EQ(closed(), (std::vector<Seen>{{100, 100, 10'000, 10'090}}));
  EXPECT_EQ(keeper_->cycles_lost(), 100 - ring::window_slots);
  EXPECT_EQ(header().windows[0].cycle, 100u) << "lost cycles keep their numbers";
}

TEST_F(WindowKeeperTest, BeginsACycleLateWhenAWindowWasWrittenMeanwhile) {
  keeper({.wait = 0, .warmup = 0, .active = 2, .repeat = 0});
  run_steps(0, 2 * ring::window_slots);  // the first step of the next cycle, too
  ASSERT_EQ(closed().size(), ring::window_slots);
  run_steps(2 * ring::window_slots + 1, 2 * ring::window_slots + 1);
  EXPECT_EQ(closed().size(), 1u);
  EXPECT_EQ(keeper_->cycles_begun_late(), 1u);
  EXPECT_EQ(keeper_->cycles_lost(), 0u) << "there is a file of it";
}

TEST_F(WindowKeeperTest, CountsACycleThatIsPassedOverWithoutAWindow) {
  constexpr std::uint64_t next = 2 * ring::window_slots;
  keeper({.wait = 0, .warmup = 0, .active = 2, .repeat = 0});
  run_steps(0, next);
  ASSERT_EQ(closed().size(), ring::window_slots);
  run_steps(next + 2, next + 3);
  EXPECT_EQ(closed(),
            (std::vector<Seen>{{next + 2, next + 3, 100 * (next + 2), 100 * (next + 3) + 90}}));
  EXPECT_EQ(keeper_->cycles_lost(), 1u);
  EXPECT_EQ(keeper_->cycles_begun_late(), 0u) << "the one behind it is whole";
  EXPECT_EQ(header().windows[0].cycle, ring::window_slots + 1);
}

TEST_F(WindowKeeperTest, CountsACycleWithoutAWindowInWhichTheJobEnds) {
  keeper({.wait = 0, .warmup = 0, .active = 2, .repeat = 0});
  run_steps(0, 2 * ring::window_slots);
  keeper_->finish(1'000'000);
  EXPECT_EQ(keeper_->cycles_lost(), 1u);
}

TEST_F(WindowKeeperTest, KeepsTheEdgesOfTheLatestSteps) {
  keeper({.active = 1, .repeat = 1});
  run_steps(0, ring::step_slots + 4);
  const auto& steps = header().steps;
  EXPECT_EQ(steps[4].step.load(), ring::step_slots + 4);
  EXPECT_EQ(steps[4].begin_ticks.load(), (ring::step_slots + 4) * 100);
  EXPECT_EQ(steps[4].end_ticks.load(), (ring::step_slots + 4) * 100 + 90);
  EXPECT_EQ(steps[5].step.load(), 5u);
  EXPECT_EQ(header().step_count.load(), ring::step_slots + 5);
}

TEST_F(WindowKeeperTest, BeginsWithTheFirstWholeStepWhenDetectionWasLate) {
  keeper({.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 1});
  EXPECT_EQ(run_steps(10, 14), (std::vector<State>{warmup, active, active, off, off}));
  EXPECT_EQ(keeper_->schedule_shift(), 7u);
  EXPECT_EQ(closed(), (std::vector<Seen>{{11, 12, 1100, 1290}}));
}

TEST_F(WindowKeeperTest, ARetractedStepBeginsAnew) {
  keeper({.warmup = 0, .active = 2, .repeat = 1});
  keeper_->on_step_begin(0, 100);
  keeper_->on_step_retracted(0);
  EXPECT_EQ(header().step_count.load(), 0u);
  keeper_->on_step_begin(0, 150);
  keeper_->on_step_end(0, 190);
  keeper_->on_step_begin(1, 200);
  keeper_->on_step_end(1, 290);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 1, 150, 290}}));
}

TEST_F(WindowKeeperTest, ARetractedLaterStepKeepsTheWindowsBegin) {
  keeper({.warmup = 0, .active = 2, .repeat = 1});
  run_steps(0, 0);
  keeper_->on_step_begin(1, 100);
  keeper_->on_step_retracted(1);
  keeper_->on_step_begin(1, 130);
  keeper_->on_step_end(1, 190);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 1, 0, 190}}));
}

TEST_F(WindowKeeperTest, ARetractedStepThatNeverReturnsIsNotShown) {
  keeper({.warmup = 0, .active = 3, .repeat = 1});
  run_steps(0, 1);
  keeper_->on_step_begin(2, 200);
  keeper_->on_step_retracted(2);
  EXPECT_NE(header().steps[2].step.load(), 2u);
  keeper_->finish(500);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 1, 0, 500}}));
}

TEST_F(WindowKeeperTest, AWindowOfARetractedStepAloneIsNotWritten) {
  keeper({.warmup = 1, .active = 3, .repeat = 1});
  run_steps(0, 0);
  keeper_->on_step_begin(1, 100);
  keeper_->on_step_retracted(1);
  keeper_->finish(500);
  EXPECT_TRUE(closed().empty());
}

TEST_F(WindowKeeperTest, AWindowEndsWhereItsLastStepWasPassedOver) {
  keeper({.wait = 1, .warmup = 1, .active = 3, .repeat = 2});
  run_steps(0, 3);
  run_steps(8, 9);
  EXPECT_EQ(closed(), (std::vector<Seen>{{2, 3, 200, 800}, {8, 9, 800, 990}}));
}

TEST_F(WindowKeeperTest, CountsTheCyclesThatWerePassedOver) {
  keeper({.wait = 1, .warmup = 1, .active = 2, .repeat = 5});
  run_steps(0, 1);
  run_steps(12, 15);  // of the first three cycles, steps 2 to 11, none was seen
  EXPECT_EQ(closed(), (std::vector<Seen>{{14, 15, 1400, 1590}}));
  EXPECT_EQ(keeper_->cycles_lost(), 3u);
  EXPECT_EQ(keeper_->cycles_begun_late(), 0u);
  EXPECT_EQ(header().windows[0].cycle, 3u) << "lost cycles keep their numbers";
  run_steps(30, 31);
  EXPECT_EQ(keeper_->cycles_lost(), 4u) << "the fifth; there is no sixth";
}

TEST_F(WindowKeeperTest, CountsNoCycleThatHasAFileAmongThosePassedOver) {
  keeper({.wait = 1, .warmup = 1, .active = 3, .repeat = 0});
  run_steps(0, 3);    // two of the first cycle's steps
  run_steps(13, 14);  // two of the third's, the second's are passed over
  EXPECT_EQ(closed(), (std::vector<Seen>{{2, 3, 200, 1300}, {13, 14, 1300, 1490}}));
  EXPECT_EQ(keeper_->cycles_lost(), 1u);
  EXPECT_EQ(keeper_->cycles_begun_late(), 1u);
  EXPECT_EQ(header().windows[1].cycle, 2u);
}

TEST_F(WindowKeeperTest, AStepWithinACycleThatWasPassedOverIsNoLossOfTheCycle) {
  keeper({.wait = 0, .warmup = 1, .active = 4, .repeat = 0});
  run_steps(0, 1);
  run_steps(3, 4);
  EXPECT_EQ(closed(), (std::vector<Seen>{{1, 4, 100, 490}}));
  EXPECT_EQ(keeper_->cycles_lost() + keeper_->cycles_begun_late(), 0u);
}

TEST_F(WindowKeeperTest, AWindowThatFollowsAnotherAtOnceIsTold) {
  keeper({.wait = 1, .warmup = 1, .active = 3, .repeat = 2});
  int told = 0;
  keeper_->tell([](void* data) noexcept { ++*static_cast<int*>(data); }, &told);
  run_steps(0, 3);
  told = 0;
  keeper_->on_step_begin(8, 800);  // active before, of the window that should have ended
  EXPECT_EQ(told, 1);
  keeper_->on_step_end(8, 890);
  keeper_->on_step_begin(9, 900);
  EXPECT_EQ(told, 1);
}

TEST_F(WindowKeeperTest, RecordsInTheStepBeforeAWindowWithoutWarmup) {
  keeper({.wait = 2, .warmup = 0, .active = 1, .repeat = 2});
  EXPECT_EQ(run_steps(0, 6), (std::vector<State>{wait, warmup, active, wait, warmup, active, off}));
  EXPECT_EQ(closed(), (std::vector<Seen>{{2, 2, 200, 290}, {5, 5, 500, 590}}));
}

TEST_F(WindowKeeperTest, RecordsOnBetweenCyclesThatFollowAtOnce) {
  keeper({.wait = 0, .warmup = 0, .active = 2, .repeat = 2});
  run_steps(0, 1);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::record);
  run_steps(2, 3);
  EXPECT_EQ(keeper_->state(), off);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 1, 0, 190}, {2, 3, 200, 390}}));
}

TEST_F(WindowKeeperTest, LeavesWindowsAloneThatCouldNotBeWritten) {
  keeper({.wait = 0, .warmup = 0, .active = 1, .repeat = 2});
  run_steps(0, 0);
  header().windows[0].state = WindowState::failed;
  header().window_count = ring::window_slots;  // its turn again
  run_steps(1, 1);
  EXPECT_EQ(keeper_->cycles_lost(), 1u);
  EXPECT_EQ(header().windows[0].state.load(), WindowState::failed);
}

TEST_F(WindowKeeperTest, CountingAnewDiscardsWhatBelongsToNoStep) {
  keeper({.warmup = 0, .active = 3, .repeat = 1});
  keeper_->on_step_begin(4, 400);
  keeper_->on_step_end(4, 490);
  keeper_->on_step_begin(5, 500);
  keeper_->on_step_retracted(5);
  EXPECT_EQ(run_steps(1, 3), (std::vector<State>{active, active, active}));
  EXPECT_EQ(closed(), (std::vector<Seen>{{1, 3, 100, 390}}));
  EXPECT_EQ(header().windows[1].cycle, 0u);
}

TEST_F(WindowKeeperTest, StartupIsRecordedAndDiscardedWithTheFirstStep) {
  keeper({.wait = 1, .active = 1, .repeat = 1}).begin_startup(7);
  EXPECT_EQ(keeper_->state(), State::startup);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::record);
  EXPECT_EQ(header().windows[0].state.load(), WindowState::open);
  run_steps(0, 0);
  EXPECT_EQ(keeper_->state(), wait);
  EXPECT_TRUE(closed().empty());
  EXPECT_EQ(header().windows[0].state.load(), WindowState::written);
}

TEST_F(WindowKeeperTest, StartupIsKeptWhereNoStepIsFound) {
  keeper({.active = 1, .repeat = 1}).begin_startup(7);
  keeper_->finish(1000);
  EXPECT_EQ(keeper_->state(), off);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 0, 7, 1000}}));
  EXPECT_EQ(header().windows[0].is_startup, 1u);
}

TEST_F(WindowKeeperTest, StartupEndsWhereItHadItsShareOfTheRing) {
  keeper({.active = 1, .repeat = 1}).begin_startup(7);
  keeper_->end_startup(500);
  EXPECT_EQ(keeper_->state(), wait);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::pass);
  EXPECT_EQ(header().windows[0].is_startup, 2u);
  keeper_->finish(1000);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 0, 7, 500}}));
}

TEST_F(WindowKeeperTest, StartupIsKeptUntilAWindowOpensWhereStepsAreSlicesOfTime) {
  for (const std::uint64_t steps : {2u, 4u}) {
    header().window_count = 0;
    keeper({.wait = 1, .warmup = 2, .active = 1, .repeat = 1}).begin_startup(7);
    keeper_->on_no_step_found(60);
    EXPECT_EQ(header().windows[0].is_startup, ring::startup_until_patience);
    run_steps(1, steps - 1);
    EXPECT_EQ(header().windows[0].state.load(),
              steps == 2 ? WindowState::open : WindowState::written);
    keeper_->finish(1000);
    const Seen startup{0, 0, 7, 60}, window{3, 3, 300, 390};
    EXPECT_EQ(closed(), std::vector<Seen>{steps == 2 ? startup : window});
  }
}

TEST_F(WindowKeeperTest, StartupCannotEndTwiceOrAfterAStep) {
  keeper({.warmup = 0, .active = 1, .repeat = 1}).begin_startup(7);
  keeper_->on_step_begin(0, 100);
  keeper_->end_startup(150);
  EXPECT_EQ(keeper_->state(), active);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::record);
}

TEST_F(WindowKeeperTest, TheEndOfTheProcessClosesAnOpenWindow) {
  keeper({.warmup = 0, .active = 5, .repeat = 1});
  run_steps(0, 1);
  keeper_->on_step_begin(2, 200);
  keeper_->finish(250);
  EXPECT_EQ(closed(), (std::vector<Seen>{{0, 2, 0, 250}}));
  keeper_->finish(300);
  EXPECT_TRUE(closed().empty());
}

TEST_F(WindowKeeperTest, BeginsAgainWithEveryEpoch) {
  keeper({.wait = 1, .warmup = 1, .active = 2, .repeat = 1}, 6);
  run_steps(0, 17);
  EXPECT_EQ(closed(),
            (std::vector<Seen>{{2, 3, 200, 390}, {8, 9, 800, 990}, {14, 15, 1400, 1590}}));
  EXPECT_EQ(keeper_->state(), wait) << "another epoch may follow";
}

TEST_F(WindowKeeperTest, TheLastStepOfAnEpochEndsItsCycle) {
  keeper({.warmup = 1, .active = 10, .repeat = 1}, 4);
  run_steps(0, 7);
  EXPECT_EQ(closed(), (std::vector<Seen>{{1, 3, 100, 390}, {5, 7, 500, 790}}));
}

TEST_F(WindowKeeperTest, LateDetectionShiftsOnlyTheFirstEpoch) {
  keeper({.wait = 1, .warmup = 0, .active = 1, .repeat = 1}, 10);
  run_steps(4, 25);
  EXPECT_EQ(closed(),
            (std::vector<Seen>{{4, 4, 400, 490}, {11, 11, 1100, 1190}, {21, 21, 2100, 2190}}));
}

// The drain refreshes the modes while steps change the state: modes of a state that is over must
// not stay.
TEST_F(WindowKeeperTest, ModesAreThoseOfTheStateWhoeverRefreshedLast) {
  keeper({.wait = 2, .warmup = 0, .active = 1, .repeat = 0});
  std::atomic<bool> over{false};
  std::thread drain([&] {
    while (!over.load()) keeper_->refresh_modes();
  });
  int wrong = 0;
  for (std::uint64_t step = 0; step < 5'000 && wrong < 3; ++step) {
    keeper_->on_step_begin(step, step * 100);
    // The drain may be within a refresh that it will correct itself, and without a core.
    const Mode expected = step % 3 == 0 ? Mode::pass : Mode::record;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (mode_of(CallClass::launch) != expected && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    if (mode_of(CallClass::launch) != expected) ++wrong;
    keeper_->on_step_end(step, step * 100 + 90);
    closed();
  }
  over = true;
  drain.join();
  EXPECT_EQ(wrong, 0);
}

// One keeper hears of every step, the other lets pass what it says it may: their windows and states
// are the same from then on.
TEST_F(WindowKeeperTest, StepsThatPassChangeNothing) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::uint64_t all_passed = 0;
  for (int i = 0; i < 200; ++i) {
    const config::Schedule schedule{below(30), below(30), below(2), 1 + below(3), below(4)};
    const std::uint64_t per_epoch = below(2) * (1 + below(90));
    SCOPED_TRACE(config::show(schedule) + ", epochs of " + std::to_string(per_epoch));
    const std::uint64_t first = below(50), last = first + 200;
    std::vector<State> states;
    std::vector<Seen> windows, expected;
    const auto run_step = [&](std::uint64_t step, std::vector<Seen>& written) {
      const State state = run_steps(step, step).front();
      if (step == last) keeper_->finish(last * 100 + 95);
      for (const Seen& window : closed()) written.push_back(window);
      return state;
    };
    keeper(schedule, per_epoch);
    for (std::uint64_t step = first; step <= last; ++step) {
      states.push_back(run_step(step, expected));
    }
    keeper(schedule, per_epoch);
    for (std::uint64_t step = first; step <= last; ++step) {
      ASSERT_EQ(run_step(step, windows), states[step - first]) << "step " << step;
      const std::uint64_t passed =
          step == last ? 0 : std::min(below(2) * keeper_->steps_to_pass(), last - step - 1);
      if (passed == 0) continue;
      for (std::uint64_t next = step + 1; next <= step + passed + 1; ++next) {
        EXPECT_EQ(states[next - first], State::wait) << "step " << next << " is of interest";
      }
      step += passed;
      all_passed += passed;
      keeper_->on_steps_passed(step);
      EXPECT_EQ(keeper_->state(), State::wait);
      EXPECT_EQ(header().step_count.load(), step + 1);
      keeper_->on_step_end(step, step * 100 + 90);
      EXPECT_EQ(header().steps[step].begin_ticks.load(), 0u) << "nobody knows when it began";
    }
    EXPECT_EQ(windows, expected);
    for (std::uint64_t step = first; per_epoch != 0 && step <= last; ++step) {
      if (step % per_epoch != 0) continue;
      EXPECT_EQ(header().steps[step].begin_ticks.load(), step * 100) << "when an epoch began";
    }
  }
  EXPECT_GT(all_passed, 1000u);
}

}  // namespace
}  // namespace traceagent::step
