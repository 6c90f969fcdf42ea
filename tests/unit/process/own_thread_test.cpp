#include "agent/process/own_thread.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <thread>

namespace traceagent::process {
namespace {

struct Seen {
  std::promise<void> done;
  cpu_set_t before, after;
  int class_before, class_after;
};

void* look(void* data) {
  auto& seen = *static_cast<Seen*>(data);
  sched_getaffinity(0, sizeof seen.before, &seen.before);
  seen.class_before = sched_getscheduler(0);
  leave_starters_scheduling();
  sched_getaffinity(0, sizeof seen.after, &seen.after);
  seen.class_after = sched_getscheduler(0);
  seen.done.set_value();
  return nullptr;
}

TEST(OwnThread, RunsWhereTheProcessMayThoughItsStarterIsPinned) {
  cpu_set_t process;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof process, &process), 0);
  if (CPU_COUNT(&process) < 2) GTEST_SKIP() << "one CPU: nothing to be pinned to";
  Seen seen;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &process)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_EQ(start_own_thread(256 * 1024, nullptr, look, &seen), 0);
  }).join();
  seen.done.get_future().wait();
  EXPECT_EQ(CPU_COUNT(&seen.before), 1) << "a new thread inherits it";
  EXPECT_TRUE(CPU_EQUAL(&seen.after, &process));
}

TEST(OwnThread, IsOfTheOrdinaryClassThoughItsStarterIsNot) {
  Seen seen;
  std::atomic<bool> is_allowed{false};
  std::thread([&] {
    const sched_param lowest{.sched_priority = 1};
    is_allowed = sched_setscheduler(0, SCHED_RR, &lowest) == 0;
    if (!is_allowed) return;
    ASSERT_EQ(start_own_thread(256 * 1024, nullptr, look, &seen), 0);
  }).join();
  if (!is_allowed) GTEST_SKIP() << "no right to a real-time class";
  seen.done.get_future().wait();
  EXPECT_EQ(seen.class_before, SCHED_RR) << "a new thread inherits it";
  EXPECT_EQ(seen.class_after, SCHED_OTHER);
}

}  // namespace
}  // namespace traceagent::process
