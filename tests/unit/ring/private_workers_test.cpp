#include "agent/ring/private_workers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "agent/ring/dead_runs.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::ring {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t rank = 3, local_rank = 1;

// The pipe by which it is known to be done last: our numbers are high.
void close_all() {
  for (int fd = 1023; fd >= 0; --fd) close(fd);
}

class PrivateWorkersTest : public testing::Test {
 protected:
  PrivateWorkersTest()
      : run_("/dev/shm/traceagent-test-" + std::to_string(getpid())),
        table_(run_ + "/" + private_workers_note) {
    fs::create_directories(run_);
  }
  ~PrivateWorkersTest() override {
    for (const pid_t pid : living_) end(pid);
    fs::remove_all(run_);
  }

  PrivatePlace take(bool is_rank = false) const {
    return take_private_place(run_, rank, local_rank, is_rank);
  }

  // Takes a place, does `act` with it, and lives until end().
  template <class Act>
  pid_t worker(const Act& act, bool is_rank = false) {
    int done[2];
    EXPECT_EQ(pipe2(done, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      act(take(is_rank));
      static_cast<void>(write(done[1], "1", 1));
      for (;;) pause();
    }
    close(done[1]);
    char byte = 0;
    // Nothing, where it has closed the pipe: then it is done too.
    static_cast<void>(read(done[0], &byte, 1));
    close(done[0]);
    living_.push_back(child);
    return child;
  }
  pid_t worker() {
    return worker([](const PrivatePlace&) {});
  }

  void end(pid_t pid) const {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  std::string run_, table_;
  std::vector<pid_t> living_;
};

TEST_F(PrivateWorkersTest, NobodyIsThere) {
  const PrivateWorkers none = private_workers_of(run_);
  EXPECT_TRUE(none.living.empty() && none.dead.empty());
  EXPECT_EQ(none.killed.count(), 0u);
}

TEST_F(PrivateWorkersTest, WhoLivesIsSeenUntilItHasFinished) {
  worker();
  PrivateWorkers seen = private_workers_of(run_);
  ASSERT_EQ(seen.living.size(), 1u);
  EXPECT_EQ(seen.living[0].rank, rank);
  EXPECT_EQ(seen.living[0].local_rank, local_rank);
  EXPECT_EQ(seen.living[0].finished, 0u);
  worker([](const PrivatePlace& own) { finish_private_worker(own); });
  seen = private_workers_of(run_);
  ASSERT_EQ(seen.living.size(), 2u);
  EXPECT_EQ(seen.living[1].finished, 1u);
  EXPECT_EQ(seen.killed.count(), 0u);
}

TEST_F(PrivateWorkersTest, WhoWasKilledIsCountedAndItsPlaceTakenAgain) {
  for (int i = 0; i < 5; ++i) end(worker());
  for (int i = 0; i < 5; ++i) {
    end(worker([](const PrivatePlace& own) { finish_private_worker(own); }));
  }
  PrivateWorkers seen = private_workers_of(run_);
  EXPECT_EQ(seen.killed.workers, 5u);
  EXPECT_TRUE(seen.living.empty());
  EXPECT_EQ(seen.dead.size(), 1u);
  EXPECT_EQ(fs::file_size(table_), sizeof(PrivateWorker));
  worker();
  const pid_t second = worker();
  EXPECT_EQ(fs::file_size(table_), 2 * sizeof(PrivateWorker));
  end(second);
  EXPECT_EQ(private_workers_of(run_).killed.count(), 6u);
}

// Its place may be a worker's afterwards.
TEST_F(PrivateWorkersTest, RanksThatWereKilledAreCountedAsSuch) {
  const auto nothing = [](const PrivatePlace&) {};
  const pid_t living = worker(nothing, true);
  EXPECT_EQ(private_workers_of(run_).living[0].is_rank, 1u);
  end(living);
  PrivateKilled killed = private_workers_of(run_).killed;
  EXPECT_EQ(in_words(killed) + " " + lost_in_words(killed), "1 rank was killed: lost");
  for (int i = 0; i < 2; ++i) end(worker());
  killed = private_workers_of(run_).killed;
  EXPECT_EQ(in_words(killed) + " " + lost_in_words(killed),
            "1 rank and 2 workers were killed: lost");
  end(worker(nothing, true));
  EXPECT_EQ(in_words(private_workers_of(run_).killed), "2 ranks and 2 workers");
  EXPECT_EQ(fs::file_size(table_), sizeof(PrivateWorker));
}

TEST_F(PrivateWorkersTest, OwnPlaceIsNotShown) {
  const PrivatePlace own = take();
  ASSERT_NE(own.worker, nullptr);
  finish_private_worker(own);
  const PrivateWorkers others = private_workers_of(run_, own);
  EXPECT_TRUE(others.living.empty() && others.dead.empty());
}

// Its pid says nothing here, its lock all.
TEST_F(PrivateWorkersTest, OfAnotherPidNamespaceLivesByItsLock) {
  const pid_t other = worker([](const PrivatePlace& own) {
    ++own.worker->pid_namespace;
    own.worker->pid = 1;
  });
  EXPECT_EQ(private_workers_of(run_).living.size(), 1u);
  end(other);
  EXPECT_TRUE(private_workers_of(run_).living.empty());
  EXPECT_EQ(private_workers_of(run_).killed.count(), 1u);
}

TEST_F(PrivateWorkersTest, PidOfAnotherNamespaceIsNobodysHere) {
  worker([](const PrivatePlace& own) {
    ++own.worker->pid_namespace;
    close_all();
  });
  EXPECT_TRUE(private_workers_of(run_).living.empty());
}

TEST_F(PrivateWorkersTest, DaemonThatClosesAllLives) {
  worker([](const PrivatePlace&) { close_all(); });
  EXPECT_EQ(private_workers_of(run_).living.size(), 1u);
  worker();
  EXPECT_EQ(private_workers_of(run_).living.size(), 2u) << "its place is its own";
}

TEST_F(PrivateWorkersTest, WhoCallsExecHasLostItAll) {
  worker([](const PrivatePlace&) { execl("/bin/sleep", "sleep", "1000", nullptr); });
  EXPECT_TRUE(private_workers_of(run_).living.empty());
  EXPECT_EQ(private_workers_of(run_).killed.count(), 1u);
}

TEST_F(PrivateWorkersTest, ForkedChildIsNotItsParent) {
  const pid_t parent = worker([](const PrivatePlace&) {
    if (fork() == 0) {
      alarm(3);  // longer than the look below; who runs this test waits for it
      for (;;) pause();
    }
  });
  end(parent);
  EXPECT_TRUE(private_workers_of(run_).living.empty());
}

// Of a run with such a worker alone nothing may be removed.
TEST_F(PrivateWorkersTest, RunLivesAsLongAsTheyDo) {
  const pid_t living = worker();
  EXPECT_TRUE(is_runs_note(table_));
  EXPECT_EQ(look_at_run(run_).state, ring::Run::State::lives);
  end(living);
  fs::last_write_time(run_, fs::file_time_type::clock::now() - std::chrono::minutes(1));
  const ring::Run run = look_at_run(run_);
  EXPECT_EQ(run.state, ring::Run::State::dead) << run.problem;
  EXPECT_EQ(run.private_killed.workers, 1u);
}

TEST_F(PrivateWorkersTest, NoRoomForItsNote) {
  fs::remove_all(run_);
  EXPECT_EQ(take().worker, nullptr);
  fs::create_directories(table_);
  EXPECT_EQ(take().worker, nullptr);
  EXPECT_EQ(private_workers_of(run_).killed.count(), 0u);
}

TEST_F(PrivateWorkersTest, DamagedTableIsRead) {
  std::ofstream(table_) << std::string(sizeof(PrivateWorker), 'x') << "half a place";
  EXPECT_EQ(private_workers_of(run_).dead.size(), 1u);
  fs::resize_file(table_, 1 << 24);
  EXPECT_LE(private_workers_of(run_).dead.size(), most_private_workers);
}

}  // namespace
}  // namespace traceagent::ring
