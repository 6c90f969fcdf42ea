#include "agent/event/high_descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace traceagent::event {
namespace {

TEST(HighDescriptorTest, LeavesTheLowNumbersFree) {
  const int before = open("/dev/null", O_RDONLY);
  close(before);
  const int ours = open_high("/dev/null", O_RDONLY);
  EXPECT_GE(ours, lowest_high_descriptor);
  EXPECT_EQ(fcntl(ours, F_GETFD), FD_CLOEXEC);
  const int after = open("/dev/null", O_RDONLY);
  EXPECT_EQ(after, before);
  close(after);
  close(ours);
}

TEST(HighDescriptorTest, KeepsTheReasonOfARefusal) {
  EXPECT_EQ(open_high("/none/such", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(off_low_numbers(-1), -1);
}

// What a process with few descriptors and a closed standard output gets; 1 where that is wrong.
int number_under_limit() {
  const rlimit limit{64, 64};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  close(STDOUT_FILENO);
  const int ours = open_high("/dev/null", O_RDONLY);
  const bool is_free = fcntl(STDOUT_FILENO, F_GETFD) == -1;
  return ours > STDERR_FILENO && ours < 64 && is_free ? 0 : 1;
}

TEST(HighDescriptorTest, IsNoStandardOneUnderALimit) {
  const pid_t child = fork();
  if (child == 0) _exit(number_under_limit());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// What a process whose descriptors are all in use but for `free_count` gets.
bool opens_with_free(int free_count) {
  const rlimit limit{64, 64};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  int last = -1;
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) last = fd;
  for (int i = 0; i < free_count; ++i) close(last - i);
  return open_high("/dev/null", O_RDONLY) >= 0;
}

TEST(HighDescriptorTest, LeavesTheLastOneToTheJob) {
  for (const int free_count : {1, 2}) {
    const pid_t child = fork();
    if (child == 0) {
      const bool opens = opens_with_free(free_count);
      _exit(opens ? 1 : errno == EMFILE ? 2 : 3);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), free_count == 1 ? 2 : 1) << free_count;
  }
}

}  // namespace
}  // namespace traceagent::event
