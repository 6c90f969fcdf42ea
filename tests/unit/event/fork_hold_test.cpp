#include "agent/event/fork_hold.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace traceagent::event {
namespace {

using namespace std::chrono_literals;

// Much less than what a fork and a call wait for each other at most.
constexpr auto a_while = 50ms;
constexpr auto most_wait = 500ms;

std::chrono::nanoseconds time_of(auto work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - began;
}

std::chrono::nanoseconds time_of_fork() {
  return time_of([] {
    begin_fork();
    end_fork_in_parent();
  });
}

void expect_that_a_fork_waits_for_a_call() {
  std::atomic<bool> is_held{false}, is_over{false};
  std::thread other([&] {
    const ForkHold hold;
    is_held = true;
    std::this_thread::sleep_for(a_while);
    is_over = true;
  });
  while (!is_held) std::this_thread::yield();
  begin_fork();
  EXPECT_TRUE(is_over);
  end_fork_in_parent();
  other.join();
}

TEST(ForkHold, AForkWaitsForACallOfAnotherThread) { expect_that_a_fork_waits_for_a_call(); }

TEST(ForkHold, NoCallBeginsWhileAForkGoesOn) {
  begin_fork();
  std::atomic<bool> is_held{false};
  std::thread other([&] {
    const ForkHold hold;
    is_held = true;
  });
  std::this_thread::sleep_for(a_while);
  EXPECT_FALSE(is_held);
  end_fork_in_parent();
  other.join();
  EXPECT_TRUE(is_held);
}

// Else the two would wait for each other until one of them gives up.
TEST(ForkHold, ACallWithinACallDoesNotWaitForTheForkThatWaitsForIt) {
  std::atomic<bool> is_held{false};
  std::chrono::nanoseconds took{};
  std::thread other([&] {
    const ForkHold outer;
    is_held = true;
    std::this_thread::sleep_for(a_while);  // the fork waits by now
    took = time_of([] { const ForkHold inner; });
  });
  while (!is_held) std::this_thread::yield();
  begin_fork();
  end_fork_in_parent();
  other.join();
  EXPECT_LT(took, most_wait);
}

// In the job's own handlers of the fork, and where a signal's handler forks within a call.
TEST(ForkHold, TheForkingThreadsOwnCallsAreNotWaitedFor) {
  EXPECT_LT(time_of([] {
              const ForkHold outer;
              begin_fork();
              { const ForkHold inner; }
              end_fork_in_parent();
            }),
            most_wait);
}

class HangingCall {
 public:
  HangingCall() {
    while (!is_held_) std::this_thread::yield();
  }
  ~HangingCall() { end(); }
  HangingCall(const HangingCall&) = delete;
  HangingCall& operator=(const HangingCall&) = delete;
  void end() {
    may_end_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> is_held_{false}, may_end_{false};
  std::thread thread_{[this] {
    const ForkHold hold;
    is_held_ = true;
    while (!may_end_) std::this_thread::yield();
  }};
};

// One that hangs, or that a signal's handler has left by longjmp.
TEST(ForkHold, ACallThatNeverEndsDelaysOneFork) {
  HangingCall other;
  EXPECT_GE(time_of_fork(), a_while);
  EXPECT_LT(time_of_fork(), a_while);
  other.end();
  expect_that_a_fork_waits_for_a_call();
}

TEST(ForkHold, AChildKnowsOfItsOwnCallsAlone) {
  HangingCall other;
  std::optional<ForkHold> own(std::in_place);
  begin_fork();  // gives up waiting for the other
  const pid_t child = fork();
  if (child == 0) {
    end_fork_in_child();
    // Forks of the child's: neither the other's call nor its own is waited for, then or later.
    const auto within = time_of_fork();
    own.reset();
    const auto later = time_of_fork();
    _exit(within < most_wait && later < most_wait ? 0 : 1);
  }
  end_fork_in_parent();
  other.end();
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace traceagent::event
