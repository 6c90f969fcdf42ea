#include "agent/process/locked_out.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace traceagent::process {
namespace {

bool is_in_futex(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string call;
  return file >> call && call == std::to_string(SYS_futex);
}

// A thread in one wait, which ends when this does.
class Waiting {
 public:
  // `time_limit`: of the wait; then it begins another.
  explicit Waiting(const timespec* time_limit)
      : thread_([this, time_limit] {
          tid_.store(gettid());
          while (!is_over_.load()) {
            syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, time_limit, nullptr, 0);
          }
        }) {
    while (tid_.load() == 0 || !is_in_futex(tid_.load())) std::this_thread::yield();
  }
  ~Waiting() {
    is_over_.store(true);
    word_.store(1);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    thread_.join();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  [[nodiscard]] pid_t tid() const { return tid_.load(); }

 private:
  std::atomic<int> word_{0};
  std::atomic<pid_t> tid_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(LockedOutTest, CountsTheLooksAtAWaitWithoutEnd) {
  const Waiting waiting(nullptr);
  LockedOut locked_out;
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(locked_out.look(waiting.tid()), i);
}

TEST(LockedOutTest, AWaitWithATimeLimitIsOurs) {
  const timespec hour{3600, 0};
  const Waiting waiting(&hour);
  LockedOut locked_out;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(locked_out.look(waiting.tid()), 0u);
}

TEST(LockedOutTest, AnotherThreadsWaitBeginsAnew) {
  const Waiting one(nullptr), other(nullptr);
  LockedOut locked_out;
  EXPECT_EQ(locked_out.look(one.tid()), 1u);
  EXPECT_EQ(locked_out.look(one.tid()), 2u);
  EXPECT_EQ(locked_out.look(other.tid()), 1u);
}

TEST(LockedOutTest, AThreadThatRunsOrIsNotThereWaitsForNothing) {
  LockedOut locked_out;
  EXPECT_EQ(locked_out.look(gettid()), 0u);  // in read(), of its own file
  EXPECT_EQ(locked_out.look(1 << 30), 0u);
}

TEST(LockedOutTest, ALookThatFindsItAtWorkBeginsAnew) {
  const Waiting waiting(nullptr);
  LockedOut locked_out;
  EXPECT_EQ(locked_out.look(waiting.tid()), 1u);
  EXPECT_EQ(locked_out.look(gettid()), 0u);
  EXPECT_EQ(locked_out.look(waiting.tid()), 1u);
}

}  // namespace
}  // namespace traceagent::process
