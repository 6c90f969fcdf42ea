#include "agent/process/private_workers.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/ring/dead_runs.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20;

class PrivateWorkersTest : public testing::Test {
 protected:
  PrivateWorkersTest() {
    folder_.path = "/dev/shm/traceagent-test-" + std::to_string(getpid());
    fs::create_directories(folder_.path);
  }
  ~PrivateWorkersTest() override { fs::remove_all(folder_.path); }

  // Returns its pid. `act` in it, then it is killed.
  template <class Act>
  int killed_worker(const Act& act) const {
    const pid_t child = fork();
    if (child == 0) {
      act();
      raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return child;
  }

  int leave_ring(std::uint64_t bytes) const {
    return killed_worker([&] { ring::create_ring(ring_path(folder_, 0, getpid()), bytes); });
  }

  RunFolder folder_;
};

TEST_F(PrivateWorkersTest, BoundIsSixteenRingsOrAQuarterOfTheFileSystem) {
  const fs::space_info space = fs::space(folder_.path);
  EXPECT_EQ(most_dead_bytes(folder_, 32 * mib), std::min(512 * mib, space.capacity / 4));
  EXPECT_EQ(most_dead_bytes(folder_, mib / 4), std::min(256 * mib, space.capacity / 4));
  EXPECT_LE(most_dead_bytes(folder_, space.capacity), space.capacity / 4);
}

TEST_F(PrivateWorkersTest, OnlyDeadRingsCount) {
  int made[2];
  ASSERT_EQ(pipe(made), 0);
  const pid_t living = fork();
  if (living == 0) {
    ring::create_ring(ring_path(folder_, 0, getpid()), 4 * mib);
    _exit(write(made[1], "1", 1) == 1 ? pause() : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(made[0], &byte, 1), 1);
  EXPECT_FALSE(has_more_dead_than(folder_, 0));
  leave_ring(mib);
  leave_ring(mib);
  EXPECT_TRUE(has_more_dead_than(folder_, mib));
  EXPECT_FALSE(has_more_dead_than(folder_, 2 * mib));
  kill(living, SIGKILL);
  waitpid(living, nullptr, 0);
  EXPECT_TRUE(has_more_dead_than(folder_, 2 * mib));
  close(made[0]);
  close(made[1]);
}

TEST_F(PrivateWorkersTest, WhoWasKilledIsCounted) {
  EXPECT_EQ(private_workers_killed(folder_), 0u);
  note_private_worker(folder_, getpid());
  EXPECT_EQ(private_workers_killed(folder_), 0u) << "it lives";
  killed_worker([&] { note_private_worker(folder_, getpid()); });
  killed_worker([&] { note_private_worker(folder_, getpid()); });
  killed_worker([&] {
    note_private_worker(folder_, getpid());
    note_private_worker_ended(folder_, getpid());
  });
  EXPECT_EQ(private_workers_killed(folder_), 2u);
  EXPECT_TRUE(has_been(folder_, tidied_topic)) << "who merges looks for files without a list";
}

// `traceagent recover` removes a run's folder of which it knows every file.
TEST_F(PrivateWorkersTest, NotesAreKnownAsTheRuns) {
  killed_worker([&] {
    note_private_worker(folder_, getpid());
    note_private_worker_ended(folder_, getpid());
  });
  for (const auto& entry : fs::directory_iterator(folder_.path)) {
    EXPECT_TRUE(ring::is_runs_note(entry.path())) << entry.path();
  }
}

TEST_F(PrivateWorkersTest, DamagedNotesAreRead) {
  std::ofstream(folder_.path + "/" + ring::private_workers_note) << "nonsense\n\n123";
  EXPECT_LE(private_workers_killed(folder_), 3u);
}

}  // namespace
}  // namespace traceagent::process
