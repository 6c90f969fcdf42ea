// Calls that a thread lets pass while another closes its stride: none is lost, none is counted
// twice, none changes its place among its thread's.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "agent/event/ticks.hpp"
#include "agent/step/stride.hpp"
#include "agent/step/tracker.hpp"
#include "tests/unit/step/jobs.hpp"

namespace traceagent::step::test {
namespace {

constexpr std::uint64_t calls_per_step = 10;

/// A detector that has found the steps of this thread, whose stride is open after the first call of
/// one. It does what a Tracker does, in the order that the test says.
class Followed {
 public:
  explicit Followed(Token::Kind kind) : detector(steps), kind_(kind) {
    strides.reserve();
    for (int step = 0; step < 300; ++step) {
      take(tell(0, Token::Kind::copy_to_device));
      for (std::uint64_t call = 0; call < calls_per_step; ++call) take(tell(call));
    }
    EXPECT_EQ(steps.locks.size(), 1u);
    take(tell(0));
    strides.open(detector);
    EXPECT_NE(strides.opened().get(), nullptr);
  }

  /// As this thread has it that looked before another closes it.
  Stride& seen_open() const { return *strides.opened().get(); }

  /// Told, but not yet taken: another thread has the turn.
  LogEntry tell(std::uint64_t call) { return tell(call, kind_); }
  LogEntry tell(std::uint64_t call, Token::Kind kind) {
    return {{call, call, ++ticks, thread_number(), kind},
            LogEntry::Kind::sequence,
            strides.stop_this_thread()};
  }
  LogEntry of_another_thread(Token::Kind kind) {
    return {{7, 7, ++ticks, thread_number() + 1, kind}};
  }
  void take(const LogEntry& entry) {
    strides.catch_up(entry, detector);
    detector.feed(entry.token);
  }
  void tell_and_take(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t call = first; call <= last; ++call) take(tell(call));
  }

  /// The step that is open ends with the next call, none was taken back.
  void expect_whole_step() {
    const std::uint64_t open = steps.current;
    take(tell(0));
    EXPECT_EQ(steps.retracted, 0u);
    EXPECT_EQ(steps.current, open + 1);
    EXPECT_EQ(steps.steps[open].end, ticks);
    EXPECT_EQ(steps.problem, "");
  }

  Recorder steps;
  Detector detector;
  Strides strides;
  std::uint64_t ticks = 0;

 private:
  const Token::Kind kind_;
};

TEST(LateCalls, AreFedBeforeTheNextThatTheirThreadTells) {
  Followed job(Token::Kind::collective);
  Stride& seen_open = job.seen_open();
  EXPECT_TRUE(seen_open.pass(1));
  job.take(job.of_another_thread(Token::Kind::launch));
  EXPECT_EQ(job.strides.opened().of_collectives(), nullptr);
  // This thread had looked before.
  EXPECT_TRUE(seen_open.pass(2));
  EXPECT_TRUE(seen_open.pass(3));
  job.tell_and_take(4, calls_per_step - 1);
  job.expect_whole_step();
}

// What their thread tells next may be of another kind.
TEST(LateCalls, AreOfTheStridesKind) {
  for (const auto told : {Token::Kind::collective, Token::Kind::synchronise,
                          Token::Kind::copy_to_device, Token::Kind::launch}) {
    SCOPED_TRACE(static_cast<int>(told));
    Followed job(Token::Kind::launch);
    Stride& seen_open = job.seen_open();
    ASSERT_TRUE(seen_open.is_of_launches());
    job.take(job.of_another_thread(Token::Kind::collective));
    for (std::uint64_t call = 1; call <= 3; ++call) EXPECT_TRUE(seen_open.pass(call));
    job.take(job.tell(4, told));
    job.tell_and_take(told == Token::Kind::launch ? 5 : 4, calls_per_step - 1);
    job.expect_whole_step();
  }
}

TEST(LateCalls, AreCountedOnce) {
  Followed job(Token::Kind::collective);
  Stride& seen_open = job.seen_open();
  EXPECT_TRUE(seen_open.pass(1));
  // Told, but taken only after another thread has closed the stride and seen what had passed.
  EXPECT_TRUE(seen_open.pass(2));
  const LogEntry next = job.tell(3);
  job.take(job.of_another_thread(Token::Kind::launch));
  job.take(next);
  job.tell_and_take(4, calls_per_step - 1);
  job.expect_whole_step();
}

// Else a call could be counted that comes after one which is not yet taken, and take its place.
TEST(LateCalls, ThereAreNoneAfterACallThatIsTold) {
  Followed job(Token::Kind::collective);
  Stride& seen_open = job.seen_open();
  EXPECT_TRUE(seen_open.pass(1));
  const LogEntry unexpected = job.tell(5);
  ASSERT_EQ(job.strides.opened().get(), &seen_open) << "nobody has closed it yet";
  EXPECT_FALSE(seen_open.pass(2)) << "5 comes before it";
  const LogEntry next = job.tell(2);
  job.take(unexpected);
  job.take(next);
  EXPECT_EQ(job.steps.retracted, 1u) << "1, 5, 2 is no step";
}

/// Ten launches a step.
struct LaunchingThread {
  void step() {
    tracker.copy_to_device(ticks);
    for (std::uint64_t kernel = 0; kernel < calls_per_step; ++kernel) {
      tracker.launch(kernel, ++ticks);
    }
    // Who holds the turn may have lost its core: the log is bounded. And he takes no more than 256
    // entries at a time: what he leaves goes with a call, or as in a job with the next poll.
    while (tracker.has_backlog()) {
      std::this_thread::yield();
      tracker.poll(ticks, 1);
    }
    ++steps;
  }
  Tracker& tracker;
  std::uint64_t ticks = 0;
  std::uint64_t steps = 0;
};

/// Too few to be the steps; each closes the stride of the thread that launches.
void make_collectives(Tracker& tracker, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t next = event::read_ticks() + random() % 5000;
    while (event::read_ticks() < next) continue;
    tracker.collective(7, 7, 0);
  }
}

struct Steps final : StepListener {
  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    begins.push_back(ticks);
    numbers.push_back(step);
  }
  void on_step_end(std::uint64_t, std::uint64_t ticks) noexcept override { ends.push_back(ticks); }
  void on_step_retracted(std::uint64_t) noexcept override { ++retracted; }
  std::vector<std::uint64_t> begins, ends, numbers;
  int retracted = 0;
};

TEST(LateCalls, ChangeNoStepWhenTheOtherThreadRunsAtTheSameTime) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    Steps steps;
    Tracker tracker(config::parse_step_mark("auto").mark, steps);
    LaunchingThread job{tracker};
    while (job.steps < 300) job.step();
    ASSERT_FALSE(steps.begins.empty());
    std::atomic<bool> done{false};
    std::thread other([&] {
      make_collectives(tracker, round);
      done = true;
    });
    while (!done) job.step();
    other.join();
    job.step();
    tracker.poll(job.ticks, 1);
    EXPECT_EQ(steps.retracted, 0);
    EXPECT_EQ(tracker.dropped(), 0u);
    ASSERT_EQ(steps.begins.size(), steps.ends.size() + 1);
    for (std::size_t i = 0; i < steps.begins.size(); ++i) {
      ASSERT_EQ(steps.begins[i], steps.numbers[i] * calls_per_step + 1);
    }
    for (std::size_t i = 0; i < steps.ends.size(); ++i) {
      ASSERT_EQ(steps.ends[i], steps.begins[i + 1]);
    }
    EXPECT_EQ(steps.numbers.back() + 1, job.steps);
  }
}

}  // namespace
}  // namespace traceagent::step::test
