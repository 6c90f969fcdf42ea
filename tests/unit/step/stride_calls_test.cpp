#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "agent/step/detector_follower.hpp"
#include "agent/step/detector_history.hpp"
#include "agent/step/stride.hpp"
#include "agent/step/tracker.hpp"
#include "tests/unit/step/told.hpp"

namespace traceagent::step::test {
namespace {

// Else a call of another thread is put before a whole stretch of calls that were made before it.
class StretchOf : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StretchOf, CallsIsSeenWholeOrNotYet) {
  History history;
  for (std::uint64_t i = 0; i < 10; ++i) history.append({.exact = i % 2, .shape = i % 2}, {});
  Pattern pattern;
  pattern.learn(history, Track::exact, 2);
  constexpr std::uint64_t blocks = 3'000'000;
  Stride stride;
  stride.reserve(GetParam());
  stride.become_owned(1);
  stride.begin({&pattern, 0, blocks, 0});
  std::atomic<bool> is_over{false};
  std::uint64_t decreases = 0;
  std::thread reader([&] {
    for (std::uint64_t seen = 0; !is_over.load();) {
      const std::uint64_t now = stride.passed();
      decreases += now < seen ? 1 : 0;
      seen = now;
    }
  });
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < 2 * blocks; ++i) {
    refused += stride.pass(unmixed(pattern.symbol(i % 2))) ? 0 : 1;
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(decreases, 0u);
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(stride.passed(), 2 * blocks);
}
INSTANTIATE_TEST_SUITE_P(Stride, StretchOf, testing::Values(2, 8, 512));

// A job that has gone on for 200 steps of these collectives, and been found.
struct SteadyJob {
  static constexpr std::uint64_t calls = 10;
  Told told;
  Tracker tracker{config::parse_step_mark("auto").mark, told};
  std::uint64_t ticks = 0;

  SteadyJob() {
    for (int step = 0; step < 200; ++step) {
      tracker.copy_to_device(++ticks);
      for (std::uint64_t i = 0; i < calls; ++i) tracker.collective(i, i, ++ticks);
    }
  }
  static auto hashes(std::uint64_t i) {
    return [i] { return std::pair(i, i); };
  }
};

TEST(Stride, LetsNothingPassThatIsNotExpected) {
  SteadyJob job;
  auto& [told, tracker, ticks] = job;
  constexpr std::uint64_t calls = SteadyJob::calls;
  const auto hashes = &SteadyJob::hashes;
  EXPECT_FALSE(tracker.passes_collective(hashes(0))) << "the first of a step needs its ticks";
  tracker.collective(0, 0, ++ticks);
  EXPECT_FALSE(tracker.passes_collective(hashes(2)));
  EXPECT_FALSE(tracker.passes_launch(1)) << "collectives are the steps";
  EXPECT_TRUE(tracker.passes_collective(hashes(1)));
  EXPECT_TRUE(tracker.passes_collective(hashes(2)));
  bool others = true;
  std::thread([&] { others = tracker.passes_collective(hashes(3)); }).join();
  EXPECT_FALSE(others) << "another thread's";
  std::thread([&] { tracker.collective(3, 3, ++ticks); }).join();
  EXPECT_FALSE(tracker.passes_collective(hashes(4))) << "closed by the other thread's call";
  for (std::uint64_t i = 4; i < calls; ++i) tracker.collective(i, i, ++ticks);
  tracker.collective(0, 0, ++ticks);
  ASSERT_EQ(told.events.back().what, 'b');
  EXPECT_EQ(told.events.back().ticks, ticks) << "all calls of the step before were counted";
}

TEST(Stride, PassesAsManyStepsAsNobodyLooksAt) {
  SteadyJob job;
  auto& [told, tracker, ticks] = job;
  constexpr std::uint64_t calls = SteadyJob::calls;
  const auto hashes = &SteadyJob::hashes;
  told.may_pass = 3;
  tracker.collective(0, 0, ++ticks);
  const std::uint64_t told_step = told.events.back().step;
  for (std::uint64_t i = 1; i < 4 * calls; ++i) {
    if (i % calls == 0) {
      EXPECT_FALSE(tracker.passes_collective(hashes(1))) << "not the first of a step";
    }
    ASSERT_TRUE(tracker.passes_collective(hashes(i % calls))) << i;
  }
  EXPECT_FALSE(tracker.passes_collective(hashes(0))) << "the fourth is looked at";
  EXPECT_EQ(told.events.back(), (Told::Event{'b', told_step, ticks}));
  tracker.poll(ticks, 1);
  EXPECT_EQ(told.events.back(), (Told::Event{'p', told_step + 3, 0}));
  tracker.collective(0, 0, ++ticks);
  EXPECT_EQ(told.events.back(), (Told::Event{'b', told_step + 4, ticks}));
  EXPECT_EQ(told.events[told.events.size() - 2], (Told::Event{'e', told_step + 3, ticks}));
  // What leaves the pattern in a step that passed is told at once, and takes that step back.
  for (std::uint64_t i = 1; i < calls + 5; ++i) {
    ASSERT_TRUE(tracker.passes_collective(hashes(i % calls))) << i;
  }
  tracker.collective(99, 99, ++ticks);
  EXPECT_EQ(told.events.back(), (Told::Event{'r', told_step + 5, 0}));
}

TEST(Stride, IsClosedByAThreadThatHasNone) {
  Told told;
  Tracker tracker(config::parse_step_mark("auto").mark, told);
  std::uint64_t ticks = 0;
  const auto hashes = [](std::uint64_t i) { return [i] { return std::pair(i, i); }; };
  const auto tell = [&](std::uint64_t i) { tracker.collective(i, i, ++ticks); };
  for (int step = 0; step < 200; ++step) {
    tracker.copy_to_device(++ticks);
    for (std::uint64_t i = 0; i < 10; ++i) tell(i);
  }
  tell(0);
  for (int other = 0; other < 2; ++other) {  // the first one takes the last stride
    const InThread thread(next_thread_number++);
    tell(1 + static_cast<std::uint64_t>(other));
  }
  tell(3);
  EXPECT_TRUE(tracker.passes_collective(hashes(4)));
  {
    const InThread thread(next_thread_number++);
    tell(5);
  }
  EXPECT_FALSE(tracker.passes_collective(hashes(5)));
  EXPECT_FALSE(tracker.passes_collective(hashes(6)));
}

// What another thread launches beside it is not told, and its own ended in the midst of a step.
TEST(Stride, IsClosedWhereItsThreadLaunchesNoMore) {
  for (const std::uint64_t kernels : {0, 500}) {  // the same, or others
    SCOPED_TRACE(kernels);
    Told told;
    Tracker tracker(config::parse_step_mark("auto").mark, told);
    std::atomic<std::uint64_t> ticks = 0;
    const auto train = [&](std::uint64_t steps, std::uint64_t first_kernel) {
      for (std::uint64_t i = 0; i < 20 * steps; ++i) {
        if (i % 20 == 0) tracker.copy_to_device(++ticks);
        tracker.launch(first_kernel + i % 20, ++ticks);
        if (i % 20 == 0) tracker.poll(ticks, ticks);
      }
    };
    std::thread([&] {
      train(200, 0);
      for (std::uint64_t kernel = 0; kernel < 7; ++kernel) tracker.launch(kernel, ++ticks);
    }).join();
    const std::uint64_t at_end = ticks;
    std::thread([&] { train(300, kernels); }).join();
    ASSERT_EQ(told.events.back().what, 'b');
    EXPECT_GT(told.events.back().ticks, at_end + 290 * 21) << tracker.description();
  }
}

// As many threads as there may be, one after the other.
TEST(Stride, IsHadByOneThreadAfterTheOther) {
  Told told;
  Tracker tracker(config::parse_step_mark("auto").mark, told);
  std::atomic<std::uint64_t> ticks = 0;
  for (int trainer = 0; trainer < 5; ++trainer) {
    SCOPED_TRACE(trainer);
    std::uint64_t passed = 0;
    std::thread([&] {
      for (std::uint64_t i = 0; i < 20 * 300; ++i) {
        if (i % 20 == 0) tracker.copy_to_device(++ticks);
        if (tracker.passes_launch(i % 20)) {
          ++passed;
        } else {
          tracker.launch(i % 20, ++ticks);
        }
      }
    }).join();
    EXPECT_GE(passed, 200 * 19u);
    tracker.poll(ticks, ticks);
    tracker.poll(ticks, ticks);
  }
}

TEST(Stride, FeedsOneByOneWhatPassedUntilItsOwnerSawThatItIsClosed) {
  Told told;
  told.may_pass = 3;
  Detector detector(told);
  Strides strides;
  strides.reserve();
  std::uint64_t ticks = 0;
  const auto entry = [&](std::uint64_t i, Token::Kind kind, std::uint64_t passed) {
    return LogEntry{{i, i, ++ticks, thread_number(), kind}, LogEntry::Kind::sequence, passed};
  };
  const auto tell = [&](const LogEntry& told_entry) {
    strides.catch_up(told_entry, detector);
    detector.feed(told_entry.token);
  };
  for (int step = 0; step < 200; ++step) {
    tell(entry(0, Token::Kind::copy_to_device, 0));
    for (std::uint64_t i = 0; i < 10; ++i) tell(entry(i, Token::Kind::collective, 0));
  }
  tell(entry(0, Token::Kind::collective, 0));
  const std::uint64_t step = told.events.back().step;
  strides.open(detector);
  Stride* own = strides.opened().of_collectives();
  ASSERT_NE(own, nullptr);
  for (std::uint64_t i = 1; i < 8; ++i) ASSERT_TRUE(own->pass(i));
  {
    const InThread thread(next_thread_number++);
    tell(entry(0, Token::Kind::synchronise, 0));
  }
  EXPECT_EQ(strides.opened().get(), nullptr);
  for (const std::uint64_t i : {8U, 9U, 0U, 1U}) ASSERT_TRUE(own->pass(i)) << "has not seen it yet";
  tell(entry(2, Token::Kind::collective, strides.stop_this_thread()));
  EXPECT_EQ(told.events.back(), (Told::Event{'b', step + 1, ticks}));
  for (const std::uint64_t i : {3U, 4U, 5U, 6U, 7U, 8U, 9U, 0U}) {
    tell(entry(i, Token::Kind::collective, own->passed()));
  }
  EXPECT_EQ(told.events.back(), (Told::Event{'b', step + 2, ticks}));
}

TEST(Stride, ComparesWhatTheDoorsSay) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = i < 10 ? static_cast<std::uint64_t>(i) : random();
    ASSERT_EQ(unmixed(mixed(value)), value);
  }
}

}  // namespace
}  // namespace traceagent::step::test
