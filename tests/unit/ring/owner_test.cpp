#include "agent/ring/owner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace traceagent::ring {
namespace {

pid_t start_child(const char* name) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, name);
    for (;;) pause();
  }
  return child;
}

std::uint32_t own_pid() { return static_cast<std::uint32_t>(getpid()); }

TEST(Owner, ThisProcessLives) {
  const std::uint64_t start = start_time_of(own_pid());
  EXPECT_GT(start, 0u);
  EXPECT_TRUE(process_lives(own_pid(), start));
}

TEST(Owner, ALaterProcessWithItsPidIsAnother) {
  EXPECT_FALSE(process_lives(own_pid(), start_time_of(own_pid()) + 1));
  EXPECT_FALSE(process_lives(own_pid(), 0));
  EXPECT_FALSE(process_lives(0, 0));
}

TEST(Owner, ANameMayHoldAnything) {
  const pid_t child = start_child("a) R 1 (b");
  const auto pid = static_cast<std::uint32_t>(child);
  std::uint64_t start = 0;
  // The name is set a moment after the fork.
  for (int i = 0; i < 100; ++i) {
    start = start_time_of(pid);
    usleep(1000);
  }
  EXPECT_GE(start, start_time_of(own_pid()));
  EXPECT_TRUE(process_lives(pid, start));
  kill(child, SIGKILL);
  siginfo_t end{};
  waitid(P_PID, pid, &end, WEXITED | WNOWAIT);
  EXPECT_FALSE(process_lives(pid, start)) << "dead, though not waited for";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_lives(pid, start));
}

// After pthread_exit in main the process shows as the dead do, but for its threads.
TEST(Owner, AProcessWhoseMainThreadHasLeftLives) {
  std::string path = "/tmp/traceagent-owner-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0));
    std::thread([] {
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  }
  close(fd);
  const auto pid = static_cast<std::uint32_t>(child);
  const std::uint64_t start = start_time_of(pid);
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  for (int look = 0; look < 5000; ++look) {
    std::string text;
    std::getline(std::ifstream(stat), text);
    if (text.find(") Z ") != std::string::npos) break;
    usleep(1000);
  }
  EXPECT_TRUE(process_lives(pid, start));
  EXPECT_TRUE(process_maps(pid, path.c_str()));
  EXPECT_FALSE(process_lives(pid, start + 1));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_lives(pid, start));
  unlink(path.c_str());
}

TEST(Owner, KnowsWhatIsMapped) {
  std::string path = "/tmp/traceagent-owner-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  EXPECT_FALSE(process_maps(own_pid(), path.c_str()));
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  EXPECT_TRUE(process_maps(own_pid(), path.c_str()));
  munmap(memory, 4096);
  EXPECT_FALSE(process_maps(own_pid(), path.c_str()));
  unlink(path.c_str());
}

// ring.folder is as the user typed it; /proc shows the one true path.
TEST(Owner, KnowsWhatIsMappedByAnyPath) {
  namespace fs = std::filesystem;
  std::string made = "/dev/shm/traceagent-owner-XXXXXX";
  const fs::path folder = mkdtemp(made.data());
  fs::create_directory(folder / "run");
  fs::create_directory_symlink(folder / "run", folder / "link");
  const fs::path file = folder / "run/0-1-0.ring";
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  std::ofstream(folder / "0-1-0.ring") << "another";
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  for (const char* path : {"run//0-1-0.ring", "run/../run/./0-1-0.ring", "link/0-1-0.ring"}) {
    EXPECT_TRUE(process_maps(own_pid(), (folder.string() + "/" + path).c_str())) << path;
  }
  EXPECT_TRUE(process_maps(own_pid(), ("/" + file.string()).c_str()));
  EXPECT_FALSE(process_maps(own_pid(), (folder / "0-1-0.ring").c_str())) << "of the same name";
  munmap(memory, 4096);
  EXPECT_FALSE(process_maps(own_pid(), (folder / "link/0-1-0.ring").c_str()));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace traceagent::ring
