#include "agent/process/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/spared.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  std::string users() const { return scratch / ("traceagent-" + std::to_string(geteuid())); }
  RunFolder make(const std::string& key = "job-17") const {
    return make_run_folder(scratch.path().string(), key);
  }
  trace::ScratchFolder scratch;
};

TEST_F(RunFolderTest, IsForItsUserAlone) {
  const RunFolder folder = make();
  EXPECT_EQ(folder.problem, "");
  EXPECT_EQ(folder.path, users() + "/job-17");
  for (const std::string& path : {users(), folder.path}) {
    struct stat facts {};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u) << path;
  }
  EXPECT_EQ(make().path, folder.path) << "all ranks meet there";
}

TEST_F(RunFolderTest, WhoHoldsARankIsKnownByItsClaimInARunThatWasLaunched) {
  const int pid = getpid();
  const std::uint64_t start = ring::start_time_of(static_cast<std::uint32_t>(pid));
  const auto holds = [&](std::int64_t rank) {
    return holds_rank(scratch.path().string(), pid, start, rank);
  };
  EXPECT_FALSE(holds(3)) << "nobody has made a folder";
  ASSERT_EQ(claim_rank(make("process-17.4"), {0, pid}), 0);
  EXPECT_FALSE(holds(0)) << "a launcher, which is traced too";
  ASSERT_EQ(claim_rank(make("launcher-17.4"), {3, pid}), 0);
  EXPECT_TRUE(holds(3));
  EXPECT_FALSE(holds(0));
  EXPECT_FALSE(holds(30));
  EXPECT_FALSE(holds_rank(scratch.path().string(), pid, start + 1, 3)) << "another of its pid";
}

// A job changes its working folder.
TEST_F(RunFolderTest, HasOneTruePath) {
  const fs::path given = scratch.path();
  fs::create_directory_symlink(given, given / "link");
  const fs::path before = fs::current_path();
  fs::current_path(given);
  for (const std::string& folder :
       {std::string("."), given.string() + "/", "/" + given.string(), given.string() + "/link"}) {
    EXPECT_EQ(make_run_folder(folder, "job-17").path, users() + "/job-17") << folder;
  }
  fs::current_path(before);
}

TEST_F(RunFolderTest, HostileKeysStayInside) {
  for (const std::string& key :
       {std::string("../../etc/passwd"), std::string("/abs/olute"), std::string(""),
        std::string("."), std::string(".."), std::string(5000, 'k'), std::string("a\nb\tc"),
        std::string("with\0zero", 9), std::string("$(reboot);`id`"), std::string("ünïcode")}) {
    const RunFolder folder = make(key);
    EXPECT_EQ(folder.problem, "") << key;
    EXPECT_EQ(fs::path(folder.path).parent_path(), users()) << key;
    const std::string name = fs::path(folder.path).filename();
    EXPECT_NE(name, "..");
    EXPECT_NE(name.front(), '.');
    EXPECT_LE(name.size(), 130u);
    EXPECT_TRUE(fs::is_directory(folder.path));
  }
}

TEST_F(RunFolderTest, RefusesALinkInItsPlace) {
  fs::create_directory(scratch / "elsewhere");
  fs::create_directory_symlink(scratch / "elsewhere", users());
  const RunFolder folder = make();
  EXPECT_EQ(folder.path, "");
  EXPECT_NE(folder.problem.find(users()), std::string::npos) << folder.problem;
  EXPECT_TRUE(fs::is_empty(scratch / "elsewhere"));
}

TEST_F(RunFolderTest, RefusesAFileInItsPlace) {
  trace::write_whole(users(), "not a folder");
  EXPECT_NE(make().problem, "");
}

TEST_F(RunFolderTest, SaysWhereItCannotBe) {
  const RunFolder folder = make_run_folder(scratch / "missing/shm", "key");
  EXPECT_EQ(folder.path, "");
  EXPECT_NE(folder.problem.find("TRACEAGENT_RING_FOLDER"), std::string::npos);
  EXPECT_EQ(folder.problem.find('\n'), std::string::npos);
}

TEST_F(RunFolderTest, FirstToClaimIsTheRank) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0);
  EXPECT_EQ(claim_rank(folder, {1, getppid()}), 0);
  EXPECT_EQ(claim_rank(folder, {0, 102}), 1);
  EXPECT_EQ(claim_rank(folder, {0, 103}), 2);
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0) << "the same process, after an exec";
  EXPECT_EQ(claim_rank(folder, {0, 102}), 1);
  EXPECT_EQ(claim_rank({}, {0, 104}), 0) << "nobody to meet";
}

// A pid that no process has.
constexpr int nobody = 1 << 23;

TEST_F(RunFolderTest, WhoIsKilledBeforeItHasARingGivesItsRankAway) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  EXPECT_EQ(claim_rank(folder, {1, nobody + 1}), 0);
  be_first(folder, "output");
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0);
  EXPECT_FALSE(has_been(folder, "output")) << "all of the dead run is gone";
  EXPECT_EQ(claim_rank(folder, {1, nobody + 2}), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(users()), {}), 1) << "nothing of it is left";
}

std::int64_t now_ns() { return static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME)); }

// Of a process that is killed then.
void leave_ring(const RunFolder& folder, std::int64_t rank) {
  const pid_t child = fork();
  if (child == 0) {
    const ring::CreatedRing created = ring::create_ring(ring_path(folder, rank, getpid()), 1 << 20);
    ring::add_anchor(created.ring.header(), event::take_anchor());
    created.ring.header().identity.world_size = 2;
    created.ring.header().ready.store(1);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST_F(RunFolderTest, ARankThatTheDeadRunDidNotHaveLeavesItToo) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  leave_ring(folder, 0);
  EXPECT_EQ(claim_rank(folder, {3, getpid(), now_ns() + 1, 4}), 0);
  EXPECT_TRUE(ring_paths(folder).empty()) << "all of the dead run is gone";
  EXPECT_GT(older_run_until_ns(folder), 0);
  EXPECT_EQ(claim_rank(folder, {0, getppid(), now_ns()}), 0) << "the new run's";
}

TEST_F(RunFolderTest, ARankThatBeganBeforeTheOthersDiedStays) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  const std::int64_t rank_start_ns = now_ns();
  leave_ring(folder, 0);
  EXPECT_EQ(claim_rank(folder, {3, getpid(), rank_start_ns, 4}), 0);
  EXPECT_EQ(ring_paths(folder).size(), 1u);
}

TEST_F(RunFolderTest, ARankThatBeginsWhenTheOthersOfItsWorldHaveDiedStays) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  leave_ring(folder, 0);
  EXPECT_EQ(claim_rank(folder, {3, getpid(), now_ns() + 1, 2}), 0);
  EXPECT_EQ(ring_paths(folder).size(), 1u);
}

TEST_F(RunFolderTest, ARankThatBeginsLateStaysWithWhoMayMakeARing) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  EXPECT_EQ(claim_rank(folder, {3, getpid(), now_ns() + 1, 4}), 0);
  EXPECT_TRUE(fs::exists(folder.path + "/claim-rank0"));
}

// Whose launcher has ended since.
void claim_of_ended_launcher(const RunFolder& folder, std::int64_t rank) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    char end;
    _exit(read(ready[0], &end, 1) == 1 ? 0 : 1);
  }
  EXPECT_EQ(claim_rank(folder, {rank, nobody, 0, 2, launcher}), 0);
  EXPECT_EQ(write(ready[1], "x", 1), 1);
  waitpid(launcher, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

// The same command again, of which a rank is first that the killed run had not come to.
TEST_F(RunFolderTest, ARankOfAnotherLauncherLeavesTheDeadRun) {
  const RunFolder folder = make();
  claim_of_ended_launcher(folder, 0);
  leave_ring(folder, 0);
  EXPECT_EQ(claim_rank(folder, {1, getpid(), now_ns() + 1, 2, getppid()}), 0);
  EXPECT_TRUE(ring_paths(folder).empty());
  EXPECT_GT(older_run_until_ns(folder), 0);
  EXPECT_EQ(claim_rank(folder, {0, getppid(), now_ns(), 2, getppid()}), 0) << "the new run's";
}

TEST_F(RunFolderTest, ARankOfAnotherLauncherLeavesADeadRunWithoutRings) {
  const RunFolder folder = make();
  claim_of_ended_launcher(folder, 0);
  EXPECT_EQ(claim_rank(folder, {1, getpid(), now_ns() + 1, 2, getppid()}), 0);
  EXPECT_FALSE(fs::exists(folder.path + "/claim-rank0"));
}

// A notebook that runs something twice: it began before both, and lives.
TEST_F(RunFolderTest, ARankBeganWithTheChildOfTheFirstRanksParent) {
  const RunFolder folder = make();
  const Forebear notebook{getpid(), 1}, launcher{getppid(), 0};
  EXPECT_EQ(claim_rank(folder, {0, nobody, 1, 2, launcher.pid, {{nobody, 1}, notebook, launcher}}),
            0);
  leave_ring(folder, 0);
  const Forebear late{nobody + 1, 2}, again{nobody + 2, now_ns() + 4'000'000'000};
  EXPECT_EQ(claim_rank(folder, {1, late.pid, 1, 2, launcher.pid, {late, notebook, launcher}}), 0);
  EXPECT_EQ(ring_paths(folder).size(), 1u) << "of the same run";
  EXPECT_EQ(claim_rank(folder, {2, again.pid, 1, 2, launcher.pid, {again, notebook, launcher}}), 0);
  EXPECT_TRUE(ring_paths(folder).empty()) << "of the next one";
}

TEST_F(RunFolderTest, ARankOfALauncherThatLivesStays) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody, 0, 2, getppid()}), 0);
  leave_ring(folder, 0);
  EXPECT_EQ(claim_rank(folder, {1, getpid(), now_ns() + 1, 2, getppid()}), 0);
  EXPECT_EQ(ring_paths(folder).size(), 1u);
}

TEST_F(RunFolderTest, ARankThatBeginsSecondsAfterTheOthersDiedLeavesThem) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  leave_ring(folder, 0);
  constexpr std::int64_t four_s = 4'000'000'000;
  EXPECT_EQ(claim_rank(folder, {1, getpid(), now_ns() + four_s, 2}), 0);
  EXPECT_TRUE(ring_paths(folder).empty());
}

TEST_F(RunFolderTest, AnEarlierProcessOfThePidIsAnother) {
  const RunFolder folder = make();
  trace::write_whole(folder.path + "/claim-rank0", std::to_string(getpid()) + " 1\n");
  be_first(folder, "output");
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0);
  EXPECT_FALSE(has_been(folder, "output")) << "all of the dead run is gone";
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0) << "the same process, after an exec";
}

TEST_F(RunFolderTest, ARankWithoutARingYetKeepsItsRun) {
  const RunFolder folder = make();
  EXPECT_EQ(claim_rank(folder, {1, getpid()}), 0);
  EXPECT_EQ(claim_rank(folder, {0, nobody}), 0);
  EXPECT_EQ(claim_rank(folder, {0, getppid()}), 1);
}

TEST_F(RunFolderTest, ManyWorkersClaimInARow) {
  const RunFolder folder = make();
  ASSERT_EQ(claim_rank(folder, {0, getpid()}), 0);
  for (int number = 1; number < 300; ++number) {
    ASSERT_EQ(claim_rank(folder, {0, nobody + number}), number);
  }
  EXPECT_EQ(claim_rank(folder, {0, nobody + 50}), 50) << "the same process, after an exec";
}

TEST_F(RunFolderTest, NamesAFreshRing) {
  const RunFolder folder = make();
  const std::string first = ring_path(folder, 3, 100);
  EXPECT_EQ(first, folder.path + "/3-100-0.ring");
  trace::write_whole(first, "");
  EXPECT_EQ(ring_path(folder, 3, 100), folder.path + "/3-100-1.ring");
  EXPECT_EQ(ring_path({}, 3, 100), "");
}

TEST_F(RunFolderTest, ListsItsRingsOnly) {
  const RunFolder folder = make();
  for (const char* name : {"1-20-0.ring", "0-10-0.ring", "0-10-0.files", "claim-rank0", "output"}) {
    trace::write_whole(folder.path + "/" + name, "");
  }
  EXPECT_EQ(ring_paths(folder),
            (std::vector<std::string>{folder.path + "/0-10-0.ring", folder.path + "/1-20-0.ring"}));
  EXPECT_TRUE(ring_paths({}).empty());
}

TEST_F(RunFolderTest, OneIsFirst) {
  const RunFolder folder = make();
  EXPECT_FALSE(has_been(folder, merge_topic));
  EXPECT_TRUE(be_first(folder, merge_topic));
  EXPECT_FALSE(be_first(folder, merge_topic));
  EXPECT_TRUE(has_been(folder, merge_topic));
  EXPECT_TRUE(be_first(folder, second_merge_topic));
  EXPECT_TRUE(be_first({}, merge_topic));
}

TEST_F(RunFolderTest, IsMadeAgainForAClaimWhereItIsGone) {
  const RunFolder folder = make();
  fs::remove_all(users());
  EXPECT_EQ(claim_rank(folder, {3, getpid()}), 0);
  EXPECT_TRUE(fs::exists(folder.path + "/claim-rank3"));
  fs::remove_all(users());
  trace::write_whole(users(), "in its place");
  EXPECT_EQ(claim_rank(folder, {3, getpid()}), 0) << "nobody to meet";
}

TEST_F(RunFolderTest, WhoBeginsWhileItIsTakenAwayIsSpared) {
  const RunFolder folder = make();
  const std::string dead = std::to_string(nobody), living = std::to_string(getppid());
  const std::string own = folder.path + "/0-" + std::to_string(getpid()) + "-0.ring";
  const std::string peer = folder.path + "/1-" + dead + "-0.ring";
  for (const std::string& path :
       {own, peer, folder.path + "/2-" + dead + "9-0.ring", folder.path + "/1-" + dead + "-0.files",
        folder.path + "/merge"}) {
    trace::write_whole(path, "");
  }
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0);
  EXPECT_EQ(claim_rank(folder, {3, getppid()}), 0);
  const std::string ring = folder.path + "/3-" + living + "-0.ring";
  const std::string list = folder.path + "/3-" + living + "-0.files";
  trace::write_whole(ring, "");
  trace::write_whole(list, "out.json");

  const Spared newcomers(folder, {own, peer}, {}, getpid());
  EXPECT_EQ(remove_run_folder(folder, &newcomers), "");
  for (const std::string& path : {ring, list, folder.path + "/claim-rank3"}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 3);
  EXPECT_EQ(claim_rank(folder, {0, getpid()}), 0);

  // Once its ring is known, it goes with the others.
  const Spared none(folder, {own, ring}, {}, getpid());
  EXPECT_EQ(remove_run_folder(folder, &none), "");
  EXPECT_FALSE(fs::exists(folder.path));
}

TEST_F(RunFolderTest, GoesWithTheLastRunInIt) {
  const RunFolder first = make("one");
  const RunFolder second = make("two");
  claim_rank(first, {0, 1});
  remove_run_folder(first);
  EXPECT_FALSE(fs::exists(first.path));
  EXPECT_TRUE(fs::exists(second.path));
  remove_run_folder(second);
  EXPECT_FALSE(fs::exists(users()));
  remove_run_folder({});
}

}  // namespace
}  // namespace traceagent::process
