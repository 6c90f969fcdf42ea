#include "agent/step/stride.hpp"

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
#include "agent/step/tracker.hpp"
#include "tests/unit/step/jobs.hpp"

namespace traceagent::step::test {
namespace {

/// All that a listener is told, in order.
struct Told final : DetectorListener {
  struct Event {
    char what;  ///< begin, end, retracted, passed
    std::uint64_t step, ticks;
    bool operator==(const Event&) const = default;
  };
  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    events.push_back({'b', step, ticks});
  }
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override {
    events.push_back({'e', step, ticks});
  }
  void on_step_retracted(std::uint64_t step) noexcept override { events.push_back({'r', step, 0}); }
  std::uint64_t steps_to_pass() const noexcept override { return may_pass; }
  void on_steps_passed(std::uint64_t latest) noexcept override {
    events.push_back({'p', latest, 0});
  }
  void on_locked(const LockReport&) noexcept override { ++locks; }

  std::vector<Event> events;
  std::uint64_t may_pass = 0;
  int locks = 0;
};

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

/// Of what follows, in this thread: as if another made it.
class InThread {
 public:
  explicit InThread(std::uint32_t number) : own_(std::exchange(this_thread_number, number)) {}
  ~InThread() { this_thread_number = own_; }
  InThread(const InThread&) = delete;
  InThread& operator=(const InThread&) = delete;

 private:
  const std::uint32_t own_;
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

TEST(Stride, ChangesNoStepOfAnyJob) {
  const Tracker::Heard all = expect_no_change_of_any_job(0);
  EXPECT_GT(2 * all.passed, all.busiest) << "the test is of no use if nothing passes";
}

TEST(Stride, ChangesNoStepOfAnyJobWhoseStepsPass) {
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

// Else a call of another thread is put before a whole block of calls that were made before it.
TEST(Stride, IsSeenWithABlockWholeOrNotYet) {
  History history;
  for (std::uint64_t i = 0; i < 10; ++i) history.append({.exact = i % 2, .shape = i % 2}, {});
  Pattern pattern;
  pattern.learn(history, Track::exact, 2);
  constexpr std::uint64_t blocks = 3'000'000;
  Stride stride;
  stride.reserve();
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
  Stride* own = strides.of_collectives();
  ASSERT_NE(own, nullptr);
  for (std::uint64_t i = 1; i < 8; ++i) ASSERT_TRUE(own->pass(i));
  {
    const InThread thread(next_thread_number++);
    tell(entry(0, Token::Kind::synchronise, 0));
  }
  EXPECT_EQ(strides.opened(), nullptr);
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
