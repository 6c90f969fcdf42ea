#include "agent/ring/dead_runs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "agent/ring/anchors.hpp"
#include "agent/ring/movers_note.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/sparse_ring.hpp"

namespace traceagent::ring {
namespace {

namespace fs = std::filesystem;
using State = Run::State;
using RunOfJob = Run;  // within a test Run is a function of GoogleTest's
constexpr std::uint64_t second_ns = 1'000'000'000;

// A child that did what it was told and stays until it is killed.
class Child {
 public:
  explicit Child(const std::function<bool()>& begin) {
    int ready[2] = {};
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      alarm(60);
      const char answer = begin() ? 1 : 0;
      if (write(ready[1], &answer, 1) == 1) pause();
      _exit(1);
    }
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 1);
    for (const int end : ready) close(end);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

class DeadRunsTest : public testing::Test {
 protected:
  DeadRunsTest()
      : users_(fs::path("/dev/shm") / ("traceagent-runs-test-" + std::to_string(getpid()))) {
    fs::create_directories(users_);
  }
  ~DeadRunsTest() override { fs::remove_all(users_); }

  std::string run(const std::string& name = "job") const {
    fs::create_directories(users_ / name);
    return users_ / name;
  }
  static std::string ring_in(const std::string& run) { return run + "/0-4711-0.ring"; }
  static bool make(const std::string& path) {
    const CreatedRing created = create_ring(path, 1 << 20);
    if (!created.ring.valid()) return false;
    created.ring.header().ready.store(1);
    return true;
  }
  static void leave_ring(const std::string& path) {
    Child owner([&] { return make(path); });
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static void set_age(const std::string& path, std::time_t seconds) {
    const timespec then{std::time(nullptr) - seconds, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  static void make_older(const std::string& run, std::time_t seconds) {
    for (const auto& entry : fs::directory_iterator(run)) set_age(entry.path(), seconds);
    set_age(run, seconds);
  }

  fs::path users_;
};

TEST_F(DeadRunsTest, IsNotRemovedWhileAnotherMovesIt) {
  const std::string job = run();
  leave_ring(ring_in(job));
  write(job + "/claim-rank0", "8388608 1\n");
  {
    Child mover([&] { return (new MoversNote(job))->is_ours(); });
    EXPECT_NE(remove_dead_run(job), "");
    EXPECT_TRUE(fs::exists(ring_in(job)));
  }
  EXPECT_EQ(remove_dead_run(job), "");  // who was killed has no lock
  EXPECT_FALSE(fs::exists(job));
}

TEST_F(DeadRunsTest, LivesAsLongAsItsRingsOwner) {
  const std::string job = run();
  Child owner([&] { return make(ring_in(job)); });
  EXPECT_EQ(look_at_run(job).state, State::lives);
  EXPECT_NE(remove_dead_run(job), "");
  EXPECT_TRUE(fs::exists(ring_in(job)));
  owner.end();
  const RunOfJob dead = look_at_run(job);
  EXPECT_EQ(dead.state, State::dead) << dead.problem;
  EXPECT_EQ(dead.rings, std::vector<std::string>{ring_in(job)});
  EXPECT_GT(dead.ring_bytes, 100'000U);
  EXPECT_EQ(remove_dead_run(job), "");
  EXPECT_FALSE(fs::exists(job));
  EXPECT_EQ(look_at_run(job).state, State::gone);
}

TEST_F(DeadRunsTest, OneOfItsRanksIsEnough) {
  const std::string job = run();
  leave_ring(job + "/0-1-0.ring");
  Child owner([&] { return make(job + "/1-2-0.ring"); });
  EXPECT_EQ(look_at_run(job).state, State::lives);
  EXPECT_NE(remove_dead_run(job), "");
  EXPECT_TRUE(fs::exists(job + "/0-1-0.ring"));
}

TEST_F(DeadRunsTest, LivesWhileWhoClaimedARankLives) {
  const std::string job = run();
  Child claimant([] { return true; });
  write(job + "/claim-rank0", std::to_string(claimant.pid()) + "\n");
  EXPECT_EQ(look_at_run(job).state, State::lives) << "its ring is about to be made";
  write(job + "/claim-rank0", std::to_string(claimant.pid()));
  EXPECT_EQ(look_at_run(job).state, State::dead) << "half a claim";
  write(job + "/claim-rank0", std::to_string(claimant.pid()) + "\n");
  const timespec later{std::time(nullptr) - 3600, 0};
  const timespec times[2] = {later, later};
  ASSERT_EQ(utimensat(AT_FDCWD, (job + "/claim-rank0").c_str(), times, 0), 0);
  EXPECT_EQ(look_at_run(job).state, State::dead) << "a later process of that pid";
}

TEST_F(DeadRunsTest, MayBeginJustNow) {
  const std::string job = run();
  EXPECT_EQ(look_at_run(job).state, State::lives);
  set_age(job, 60);
  EXPECT_EQ(look_at_run(job).state, State::dead);
  EXPECT_EQ(remove_dead_run(job), "");
  EXPECT_FALSE(fs::exists(job));
}

TEST_F(DeadRunsTest, RefusesWhatTheAgentDoesNotMake) {
  const std::string elsewhere = users_ / "elsewhere";
  write(elsewhere, "precious");
  const std::vector<std::function<void(const std::string&)>> plants = {
      [&](const std::string& job) { fs::create_symlink(elsewhere, job + "/1-2-0.ring"); },
      [&](const std::string& job) { fs::create_symlink(elsewhere, job + "/claim-rank1"); },
      [](const std::string& job) { ASSERT_EQ(mkfifo((job + "/1-2-0.ring").c_str(), 0600), 0); },
      [](const std::string& job) { fs::create_directory(job + "/1-2-0.ring"); },
      [](const std::string& job) { write(job + "/thesis.txt", "years of work"); },
  };
  for (std::size_t i = 0; i < plants.size(); ++i) {
    const std::string job = run("job" + std::to_string(i));
    leave_ring(ring_in(job));
    plants[i](job);
    EXPECT_EQ(look_at_run(job).state, State::refused) << i;
    EXPECT_NE(remove_dead_run(job), "") << i;
    EXPECT_TRUE(fs::exists(ring_in(job))) << i;
  }
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(DeadRunsTest, FollowsNoLinkToARun) {
  const std::string job = run("real");
  leave_ring(ring_in(job));
  fs::create_directory_symlink(job, users_ / "link");
  EXPECT_EQ(look_at_run(users_ / "link").state, State::refused);
  EXPECT_NE(remove_dead_run(users_ / "link"), "");
  EXPECT_TRUE(fs::exists(ring_in(job)));
}

TEST_F(DeadRunsTest, RefusesAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string job = run();
  leave_ring(ring_in(job));
  ASSERT_EQ(chown(ring_in(job).c_str(), 12345, 12345), 0);
  EXPECT_EQ(look_at_run(job).state, State::refused);
  ASSERT_EQ(chown(ring_in(job).c_str(), 0, 0), 0);
  ASSERT_EQ(chown(job.c_str(), 12345, 12345), 0);
  EXPECT_EQ(look_at_run(job).state, State::refused);
  EXPECT_NE(remove_dead_run(job), "");
  EXPECT_TRUE(fs::exists(ring_in(job)));
}

TEST_F(DeadRunsTest, OfAnotherVersionItIsJudgedByItsLock) {
  const std::string job = run();
  std::string text(1 << 20, '\0');
  text.replace(0, 8, "nothing.");
  {
    Child owner([&] {
      write(ring_in(job), text);
      const int file = open(ring_in(job).c_str(), O_RDWR);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      return fcntl(file, F_SETLK, &lock) == 0;
    });
    EXPECT_EQ(look_at_run(job).state, State::lives);
  }
  EXPECT_EQ(look_at_run(job).state, State::dead);
}

TEST_F(DeadRunsTest, OldOnesGoAndYoungOnesStay) {
  for (const char* name : {"old", "young", "own"}) leave_ring(ring_in(run(name)));
  write(run("old") + "/claim-rank0", "4711\n");
  write(run("old") + "/cupti-2", "");
  const std::string living = run("living");
  Child owner([&] { return make(ring_in(living)); });
  for (const char* name : {"old", "living", "own"}) make_older(run(name), 100);
  const OldRuns none = remove_old_runs(users_, run("own"), 0, second_ns);
  EXPECT_EQ(none.removed_rings, 0U);
  EXPECT_EQ(none.dead_runs, 2U);
  const OldRuns old = remove_old_runs(users_, run("own"), 50 * second_ns, second_ns);
  EXPECT_EQ(old.removed_rings, 1U);
  EXPECT_GT(old.removed_bytes, 100'000U);
  EXPECT_EQ(old.dead_runs, 1U);
  EXPECT_FALSE(fs::exists(users_ / "old"));
  for (const char* name : {"young", "own", "living"}) EXPECT_TRUE(fs::exists(ring_in(run(name))));
}

TEST_F(DeadRunsTest, WhoseOwnerLivedAMomentAgoIsYoung) {
  const std::string job = run("job");
  {
    Child owner([&] {
      const CreatedRing created = create_ring(ring_in(job), 1 << 20);
      if (!created.ring.valid()) return false;
      add_anchor(created.ring.header(), event::take_anchor());
      return true;
    });
  }
  make_older(job, 100);
  EXPECT_EQ(remove_old_runs(users_, "", 50 * second_ns, second_ns).removed_rings, 0U);
  EXPECT_TRUE(fs::exists(ring_in(job)));
}

// A job that is killed again and again leaves what its rings hold, and not their whole size.
TEST_F(DeadRunsTest, WhatTheirRingsHaveNotUsedGoesBack) {
  const std::string job = run("job");
  {
    Child owner([&] {
      const CreatedRing created = create_ring(ring_in(job), 8 << 20);
      if (!created.ring.valid()) return false;
      for (std::uint64_t i = 0; i < created.ring.chunk_count(); ++i) {
        Chunk* const chunk = claim_chunk(created.ring, 7, ThreadName{"job"}, false);
        chunk->records[500].begin_ticks.store(i +
                                              1);  // touched and written, then all but two freed
        chunk->records[500].end_ticks.store(i + 2);
        retire_chunk(*chunk);
        if (i != 0 && i != 50) free_chunk(created.ring, *chunk);
      }
      created.ring.header().identity.host = created.ring.add_name("a-host");
      created.ring.header().ready.store(1);
      return true;
    });
    EXPECT_GT(bytes_of_other_runs(users_, "", second_ns), 7U << 20);
    EXPECT_EQ(remove_old_runs(users_, "", 0, second_ns).dead_bytes, 0U) << "of one that lives";
    EXPECT_GT(look_at_run(job).ring_bytes, 7U << 20);
  }
  make_older(job, 100);
  const auto modified = fs::last_write_time(ring_in(job));
  const OldRuns old = remove_old_runs(users_, "", 0, second_ns);
  EXPECT_LT(old.dead_bytes, 1U << 20);
  EXPECT_GT(old.given_back_bytes, 6U << 20);
  EXPECT_EQ(look_at_run(job).ring_bytes, old.dead_bytes);
  EXPECT_EQ(bytes_of_other_runs(users_, "", second_ns), old.dead_bytes);
  EXPECT_EQ(bytes_of_other_runs(users_, job, second_ns), 0U);
  EXPECT_EQ(fs::last_write_time(ring_in(job)), modified);
  EXPECT_EQ(remove_old_runs(users_, "", 0, second_ns).given_back_bytes, 0U) << "again";

  OpenedRing left = open_ring_to_recover(ring_in(job));
  ASSERT_TRUE(left.ring.valid()) << left.problem;
  ASSERT_EQ(left.ring.chunk_count(), 2U);
  EXPECT_EQ(left.ring.chunk(0).records[500].begin_ticks.load(), 1U);
  EXPECT_EQ(left.ring.chunk(1).records[500].begin_ticks.load(), 51U);
  EXPECT_EQ(left.ring.name(left.ring.header().identity.host), "a-host");
  close_ring(left);
}

// On a file system that hosts share: their first namespaces have the same number.
TEST_F(DeadRunsTest, NothingOfARingOfAnotherHostGoesBack) {
  const std::string job = run("job");
  Child([&] {
    const CreatedRing created = create_ring(ring_in(job), 8 << 20);
    if (!created.ring.valid()) return false;
    created.ring.header().owner_namespace = pid_namespace();
    created.ring.header().ready.store(1);
    return true;
  });
  make_older(job, 100);
  EXPECT_EQ(remove_old_runs(users_, "", 0, second_ns).given_back_bytes, 0U);
}

// Its process may have closed its lock with all its descriptors, and live where pids are others.
TEST_F(DeadRunsTest, NothingOfARingOfAnotherNamespaceGoesBack) {
  const std::string job = run("job");
  Child([&] {
    const CreatedRing created = create_ring(ring_in(job), 8 << 20);
    if (!created.ring.valid()) return false;
    ++created.ring.header().owner_namespace;
    created.ring.header().ready.store(1);
    return true;
  });
  make_older(job, 100);
  const OldRuns old = remove_old_runs(users_, "", 0, second_ns);
  EXPECT_EQ(old.dead_rings, 1U);
  EXPECT_EQ(old.given_back_bytes, 0U);
  EXPECT_GT(old.dead_bytes, 7U << 20) << "but it counts";
}

TEST_F(DeadRunsTest, TakesNoLongerThanTold) {
  for (int i = 0; i < 20; ++i) leave_ring(ring_in(run("job" + std::to_string(i))));
  for (int i = 0; i < 20; ++i) make_older(run("job" + std::to_string(i)), 100);
  EXPECT_EQ(remove_old_runs(users_, "", second_ns, 0).removed_rings, 0U);
  EXPECT_GT(bytes_of_other_runs(users_, "", 60 * second_ns), 0U);
  EXPECT_EQ(bytes_of_other_runs(users_, "", 0), 0U);
  EXPECT_EQ(remove_old_runs(users_, "", second_ns, 60 * second_ns).removed_rings, 20U);
}

// A job that is started again and again leaves one at each attempt that comes to no ring.
TEST_F(DeadRunsTest, WithoutARingTheyGoAtOnce) {
  for (const char* name : {"dead", "young", "living", "with-ring", "killed"}) {
    write(run(name) + "/claim-rank0", "4711 1\n");
    write(run(name) + "/merge", "");
  }
  write(run("living") + "/claim-rank1",
        std::to_string(getpid()) + " " +
            std::to_string(start_time_of(static_cast<std::uint32_t>(getpid()))) + "\n");
  leave_ring(ring_in(run("with-ring")));
  PrivateWorker killed;
  killed.pid = 4711;
  write(run("killed") + "/" + private_workers_note,
        {reinterpret_cast<const char*>(&killed), sizeof killed});
  for (const char* name : {"dead", "living", "with-ring", "killed"}) make_older(run(name), 100);
  remove_old_runs(users_, "", 0, 60 * second_ns);
  EXPECT_FALSE(fs::exists(users_ / "dead"));
  for (const char* name : {"young", "living", "with-ring", "killed"}) {
    EXPECT_TRUE(fs::exists(users_ / name / "claim-rank0")) << name;
  }
}

}  // namespace
}  // namespace traceagent::ring
