#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/step/detector_follower.hpp"
#include "agent/step/detector_history.hpp"
#include "agent/step/stride.hpp"
#include "agent/step/tracker.hpp"
#include "tests/unit/step/jobs.hpp"
#include "tests/unit/step/told.hpp"

namespace traceagent::step::test {
namespace {

void call(Tracker& tracker, const Token& token) {
  switch (token.kind) {
    case Token::Kind::launch:
      return tracker.launch(token.exact, token.ticks);
    case Token::Kind::collective:
      return tracker.collective(token.exact, token.shape, token.ticks);
    case Token::Kind::point_to_point:
      return tracker.point_to_point(token.exact, token.shape, token.ticks);
    case Token::Kind::synchronise:
      return tracker.synchronise(token.ticks);
    case Token::Kind::copy_to_device:
      return tracker.copy_to_device(token.ticks);
  }
}

/// Every call fed, as if there were no strides. `numbers`: of the job's threads, whose order
/// decides which of two that launch alike leads.
std::vector<Told::Event> told_of_all(const Job& job, const std::vector<std::uint32_t>& numbers) {
  Told told;
  Detector detector(told);
  for (Token token : job.tokens) {
    token.thread = numbers[token.thread];
    const bool is_launch = token.kind == Token::Kind::launch;
    const bool is_boundary =
        token.kind == Token::Kind::synchronise || token.kind == Token::Kind::copy_to_device;
    if (is_launch && !detector.wants_launches()) continue;
    if (is_boundary && !detector.wants_boundaries()) continue;
    detector.feed(token);
  }
  return told.events;
}

struct Seen {
  std::vector<Told::Event> events;
  std::vector<std::uint32_t> numbers;
  std::uint64_t heard = 0, passed = 0;
};

/// The job as its threads would run it, each when the one before has done.
Seen run_threads(const Job& job, std::uint64_t may_pass) {
  Told told;
  told.may_pass = may_pass;
  Tracker tracker(config::parse_step_mark("auto").mark, told);
  std::vector<std::uint32_t> numbers(4);
  for (std::uint32_t& number : numbers) number = next_thread_number++;
  for (const Token& token : job.tokens) {
    const InThread thread(numbers[token.thread]);
    call(tracker, token);
  }
  tracker.poll(job.tokens.back().ticks, 1);
  const Tracker::Heard heard = tracker.heard_since_last();
  return {told.events, numbers, heard.busiest, heard.passed};
}

/// Steps that passed told one by one, at the times that are expected.
std::vector<Told::Event> spelt_out(const std::vector<Told::Event>& seen,
                                   const std::vector<Told::Event>& expected) {
  std::vector<Told::Event> all;
  const auto ticks = [&] { return all.size() < expected.size() ? expected[all.size()].ticks : 0; };
  std::uint64_t open = 0;
  for (const Told::Event& event : seen) {
    for (; event.what == 'p' && open < event.step; ++open) {
      all.push_back({'e', open, ticks()});
      all.push_back({'b', open + 1, ticks()});
    }
    if (event.what == 'b') open = event.step;
    if (event.what != 'p') all.push_back(event);
  }
  return all;
}

/// A step that is found again by calls that had passed begins with the last one before that was
/// told, at most `most_early` too early. All else is the same.
void expect_same(const std::vector<Told::Event>& seen, const std::vector<Told::Event>& expected,
                 std::uint64_t most_early) {
  ASSERT_EQ(seen.size(), expected.size());
  std::size_t other_ticks = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == expected[i]) continue;
    ++other_ticks;
    ASSERT_EQ(seen[i].what, expected[i].what) << "event " << i;
    ASSERT_EQ(seen[i].what, 'b') << "event " << i;
    ASSERT_EQ(seen[i].step, expected[i].step) << "event " << i;
    ASSERT_LT(seen[i].ticks, expected[i].ticks) << "event " << i;
    ASSERT_LE(expected[i].ticks - seen[i].ticks, most_early) << "event " << i;
    ASSERT_TRUE(i > 0 && expected[i - 1].what == 'r') << "event " << i;
  }
  EXPECT_LE(other_ticks, seen.size() / 100);
}

struct Shape {
  int calls, micro_batches, evaluate_every, batches, threads;
  bool by_launches, counts_vary, checkpoints;
};

Shape random_shape(std::mt19937_64& random) {
  const auto upto = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  return {3 + upto(60),
          upto(2) == 0 ? 1 : 2 + upto(3),
          upto(3) == 0 ? 0 : 30 + upto(60),
          1 + upto(200),
          1 + upto(3),
          upto(2) == 0,
          upto(3) == 0,
          upto(2) == 0};
}

std::string describe(const Shape& shape) {
  return std::to_string(shape.calls) + (shape.by_launches ? " launches" : " collectives") + ", " +
         std::to_string(shape.micro_batches) + " micro batches, evaluation of " +
         std::to_string(shape.batches) + " every " + std::to_string(shape.evaluate_every) +
         " steps, " + std::to_string(shape.threads) + " threads" +
         (shape.counts_vary ? ", counts vary" : "") + (shape.checkpoints ? ", checkpoints" : "");
}

/// Writes the calls of a job of that shape down.
class Maker {
 public:
  Maker(const Shape& shape, std::mt19937_64& random) : shape_(shape), random_(random) {
    for (int i = 0; i < shape.calls; ++i) calls_.push_back(random() % 6);
  }

  Job make(int steps) {
    for (int step = 0; step < steps; ++step) {
      for (int micro = 0; micro < shape_.micro_batches; ++micro) batch(true);
      launches(30, 4, 1);
      job_.synchronise();
      const bool evaluates = shape_.evaluate_every > 0 && step % shape_.evaluate_every == 29;
      for (int i = 0; evaluates && i < shape_.batches; ++i) batch(false);
      if (shape_.checkpoints && step % 70 == 65) checkpoint();
    }
    return std::move(job_);
  }

 private:
  void launches(std::uint64_t kernel, int count, std::uint32_t thread) {
    job_.launches(kernel, count, thread);
  }
  void collective(std::uint64_t shape, std::uint32_t thread) {
    job_.collective(shape, shape_.counts_vary && shape % 3 == 0 ? random_() % 3 : shape);
    job_.tokens.back().thread = thread;
  }
  // The forward pass on the first thread, the backward pass on the second, where there is one. A
  // loader copies and launches beside them.
  void batch(bool trains) {
    job_.copy();
    if (shape_.threads > 2) {
      job_.copy(3);
      launches(40, 1, 3);
    }
    const std::size_t half = calls_.size() / 2;
    for (std::size_t i = 0; i < (trains ? calls_.size() : half); ++i) {
      const std::uint32_t thread = i < half || shape_.threads < 2 ? 1 : 2;
      launches(50 + calls_[i], shape_.by_launches ? 1 : 2, thread);
      if (!shape_.by_launches) collective(calls_[i], thread);
    }
  }
  void checkpoint() {
    for (int i = 0; i < 5; ++i) {
      launches(90, 1, 1);
      if (!shape_.by_launches) collective(90, 1);
      job_.synchronise();
    }
  }

  const Shape shape_;
  std::mt19937_64& random_;
  std::vector<std::uint64_t> calls_;
  Job job_;
};

/// How many calls of some jobs passed, and how many were heard.
Tracker::Heard expect_no_change_of_any_job(std::uint64_t may_pass) {
  Tracker::Heard all;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const Shape shape = random_shape(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(shape));
    const Job job = Maker(shape, random).make(600);
    const Seen seen = run_threads(job, may_pass);
    const std::vector<Told::Event> expected = told_of_all(job, seen.numbers);
    // The calls of a batch, as the ticks count them.
    const auto most_early = static_cast<std::uint64_t>(5 * shape.calls + 10) * (2 * may_pass + 1);
    expect_same(spelt_out(seen.events, expected), expected, most_early);
    if (testing::Test::HasFatalFailure()) break;
    all.passed += seen.passed;
    all.busiest += seen.heard;
  }
  return all;
}

TEST(StrideOfJobs, ChangesNoStepOfAnyJob) {
  const Tracker::Heard all = expect_no_change_of_any_job(0);
  EXPECT_GT(2 * all.passed, all.busiest) << "the test is of no use if nothing passes";
}

TEST(StrideOfJobs, ChangesNoStepOfAnyJobWhoseStepsPass) {
  const std::uint64_t told_each = expect_no_change_of_any_job(0).passed;
  for (const std::uint64_t may_pass : {1U, 3U, 100U}) {
    EXPECT_GT(expect_no_change_of_any_job(may_pass).passed, told_each) << may_pass;
  }
}

class StrideOfThreads : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(ToldOrPassing, StrideOfThreads, testing::Values(0, 3));

TEST_P(StrideOfThreads, LosesNoCallWhenThreadsCommunicateAtTheSameTime) {
  Told told;
  told.may_pass = GetParam();
  Tracker tracker(config::parse_step_mark("auto").mark, told);
  constexpr std::uint64_t steps = 400, calls = 30;
  std::atomic<std::uint64_t> ticks{0};
  const auto train = [&](std::uint64_t from) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      tracker.copy_to_device(++ticks);
      for (std::uint64_t i = 0; i < calls; ++i) tracker.collective(i, i, ++ticks);
      while (tracker.has_backlog()) std::this_thread::yield();
      // Turns up in the middle of a step of the others', now and then.
      if (from > 0 && step % from == 0) std::this_thread::yield();
    }
  };
  train(0);  // found and past its probation
  const Tracker::Heard before = tracker.heard_since_last();
  EXPECT_GT(before.passed, steps * calls / 2);
  std::atomic<bool> stop{false};
  std::thread drain([&] {
    while (!stop.load()) tracker.poll(ticks.load(), ++ticks);
  });
  std::vector<std::thread> others;
  for (const std::uint64_t every : {7U, 11U, 13U}) others.emplace_back(train, every);
  train(5);
  for (std::thread& other : others) other.join();
  stop = true;
  drain.join();
  tracker.poll(ticks.load(), 1);
  // Alone again: what is there is whole, and steps are found as before.
  const std::uint64_t step_before = told.events.back().step;
  train(0);
  train(0);
  tracker.poll(ticks.load(), 1);
  EXPECT_GT(told.events.back().step, step_before + steps);
  std::uint64_t expected = 0;
  bool is_open = false;
  for (const Told::Event& event : told.events) {
    if (event.what == 'p') {
      EXPECT_TRUE(is_open && event.step > expected);
      expected = event.step;
      continue;
    }
    EXPECT_EQ(event.what == 'b', !is_open);
    if (event.what != 'b') {
      EXPECT_EQ(event.step, expected);
    }
    expected = event.step;
    is_open = event.what == 'b';
  }
}

}  // namespace
}  // namespace traceagent::step::test
