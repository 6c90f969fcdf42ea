#include "agent/ring/stillborn_ring.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {
namespace {

namespace fs = std::filesystem;

class StillbornRingTest : public testing::Test {
 protected:
  StillbornRingTest() { fs::create_directories(folder_); }
  ~StillbornRingTest() override { fs::remove_all(folder_); }
  std::string path_of(pid_t pid) const {
    return folder_ / ("0-" + std::to_string(pid) + "-0.ring");
  }

  // A process that makes its ring and does not come to the end of its start. Returns when it has.
  pid_t start(const std::function<void(const CreatedRing&)>& then) const {
    int made[2];
    EXPECT_EQ(pipe(made), 0);
    const pid_t child = fork();
    if (child == 0) {
      then(create_ring(path_of(getpid()), 1 << 20));
      if (write(made[1], "y", 1) == 1) pause();
      _exit(1);
    }
    close(made[1]);
    char answer = 0;
    EXPECT_EQ(read(made[0], &answer, 1), 1);
    close(made[0]);
    return child;
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  static bool is_stillborn_after(std::time_t seconds, const std::string& path) {
    return is_stillborn(path, std::time(nullptr) + seconds);
  }

  const fs::path folder_ = "/dev/shm/traceagent-test-" + std::to_string(getpid());
};

TEST_F(StillbornRingTest, ItsMakerIsDeadAndHasNotRecorded) {
  const pid_t maker = start([](const CreatedRing&) {});
  EXPECT_FALSE(is_stillborn_after(60, path_of(maker))) << "its maker has the lock";
  end(maker);
  EXPECT_TRUE(is_stillborn_after(60, path_of(maker)));
  EXPECT_FALSE(is_stillborn_after(0, path_of(maker)));
  const pid_t ready = start([](const CreatedRing& made) { made.ring.header().ready = 1; });
  end(ready);
  EXPECT_FALSE(is_stillborn_after(60, path_of(ready))) << "it may have recorded";
}

TEST_F(StillbornRingTest, AnEmptyFileIsIfItsMakerIsDead) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  for (const pid_t pid : {dead, getpid()}) std::ofstream(path_of(pid)).close();
  EXPECT_TRUE(is_stillborn_after(60, path_of(dead)));
  EXPECT_FALSE(is_stillborn_after(60, path_of(getpid())));
  EXPECT_FALSE(is_stillborn_after(60, folder_ / "there_is_none.ring"));
}

TEST_F(StillbornRingTest, AStartThatTakesLongWithoutALockIsNone) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{100, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const pid_t maker = start([](const CreatedRing& made) {
    if (made.fd >= 0 || made.ring.header().lockless_in == 0) _exit(1);
  });
  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_FALSE(is_stillborn_after(60, path_of(maker)));
  end(maker);
  EXPECT_TRUE(is_stillborn_after(60, path_of(maker)));
}

// Nobody knows whether it lives.
TEST_F(StillbornRingTest, NorIsOneWithoutALockOfAnotherPidNamespace) {
  const pid_t maker =
      start([](const CreatedRing& made) { made.ring.header().lockless_in = pid_namespace() + 1; });
  end(maker);
  EXPECT_FALSE(is_stillborn_after(60, path_of(maker)));
}

}  // namespace
}  // namespace traceagent::ring
