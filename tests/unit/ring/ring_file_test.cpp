#include "agent/ring/ring_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "agent/event/ticks.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::ring {
namespace {

namespace fs = std::filesystem;

constexpr ThreadName no_name = "thread";

class RingFileTest : public testing::Test {
 protected:
  RingFileTest() : folder_(fs::path("/dev/shm") / ("traceagent-test-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~RingFileTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name = "0-1-0.ring") const { return folder_ / name; }

  // Makes a ring in a process that is killed with SIGKILL once it has recorded.
  void leave_behind(const std::string& where,
                    const std::function<void(const Ring&)>& record) const {
    const pid_t child = fork();
    if (child == 0) {
      const CreatedRing created = create_ring(where, 1 << 20);
      if (!created.ring.valid()) _exit(1);
      created.ring.header().ready.store(1);
      record(created.ring);
      raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  void change_header(const std::function<void(Header&)>& change) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    std::vector<char> bytes(sizeof(Header));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    change(*reinterpret_cast<Header*>(bytes.data()));
    file.seekp(0);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::string problem_of(const std::string& where) const {
    OpenedRing opened = open_ring(where);
    EXPECT_EQ(opened.ring.valid(), opened.problem.empty());
    close_ring(opened);
    return opened.problem;
  }

  fs::path folder_;
};

std::uint64_t bytes_taken(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_blocks) * 512 : 0;
}

TEST_F(RingFileTest, KeepsLittleMemoryOnceNothingIsWanted) {
  constexpr std::uint64_t bytes = 16 << 20;
  const CreatedRing created = create_ring(path(), bytes);
  ASSERT_TRUE(created.ring.valid());
  const Ring& ring = created.ring;
  const std::uint32_t name = ring.add_name("of the identity");
  // One that a thread still has, one that is given back, one in which a call still runs.
  Chunk* const owned = claim_chunk(ring, 1, no_name, false);
  Chunk* const ended = claim_chunk(ring, 2, no_name, false);
  Chunk* const running = claim_chunk(ring, 3, no_name, false);
  event::Record& last = ended->records[records_per_chunk - 1];
  last.begin_ticks = 5;
  last.end_ticks = 6;
  running->records[records_per_chunk - 1].begin_ticks = 7;
  retire_chunk(*ended);
  retire_chunk(*running);
  const std::uint64_t owners_claim = owned->claim_number, running_claim = running->claim_number;
  EXPECT_GE(bytes_taken(path()), bytes - chunk_bytes);

  give_back_memory(ring);
  EXPECT_LT(bytes_taken(path()), bytes / 8);
  EXPECT_EQ(claim_chunk(ring, 4, no_name, false), nullptr);
  EXPECT_EQ(claim_chunk(ring, 5, no_name, true), nullptr) << "ring.full: overwrite";
  EXPECT_EQ(running->records[records_per_chunk - 1].begin_ticks.load(), 7u);
  EXPECT_EQ(ring.add_name("too late"), 0u);
  EXPECT_EQ(ring.name(name), "of the identity");
  EXPECT_EQ(owned->state.load(), ChunkState::owned);
  EXPECT_EQ(owned->claim_number.load(), owners_claim);
  EXPECT_EQ(running->claim_number.load(), running_claim);
  EXPECT_EQ(ended->claim_number.load(), 0u) << "what NCCL tells late finds its record gone";
  OpenedRing opened = open_ring(path());
  EXPECT_EQ(opened.problem, "");
  EXPECT_EQ(opened.ring.name(name), "of the identity");
  close_ring(opened);
}

TEST_F(RingFileTest, IsMadeForItsOwnerAlone) {
  const CreatedRing created = create_ring(path(), 4 << 20);
  ASSERT_TRUE(created.ring.valid());
  EXPECT_EQ(created.problem, "");
  EXPECT_EQ(created.path, path());
  EXPECT_GE(created.fd, 500) << "low descriptors are what programs close blindly";
  EXPECT_NE(fcntl(created.fd, F_GETFD) & FD_CLOEXEC, 0);
  struct stat facts {};
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(static_cast<std::uint64_t>(facts.st_size), created.ring.header().file_bytes);
  EXPECT_GE(static_cast<std::uint64_t>(facts.st_blocks) * 512, created.ring.header().file_bytes)
      << "every page must be granted before it is touched";
  close(created.fd);
}

TEST_F(RingFileTest, NeverReplacesAFile) {
  std::ofstream(path()) << "mine";
  const CreatedRing created = create_ring(path(), 1 << 20);
  EXPECT_EQ(created.path, "") << "in private memory instead";
  EXPECT_TRUE(created.ring.valid());
  EXPECT_NE(created.problem.find("File exists"), std::string::npos) << created.problem;
  std::string text;
  std::ifstream(path()) >> text;
  EXPECT_EQ(text, "mine");
  if (created.fd >= 0) close(created.fd);
}

TEST_F(RingFileTest, FollowsNoLink) {
  std::ofstream(path("victim")) << "mine";
  fs::create_symlink(path("victim"), path());
  const CreatedRing created = create_ring(path(), 1 << 20);
  EXPECT_EQ(created.path, "");
  EXPECT_EQ(fs::file_size(path("victim")), 4u);
  EXPECT_NE(problem_of(path()), "");
  if (created.fd >= 0) close(created.fd);
}

TEST_F(RingFileTest, SurvivesTheDeathOfItsOwner) {
  leave_behind(path(), [](const Ring& ring) {
    Chunk* chunk = claim_chunk(ring, 77, "python\0\0\0\0\0\0\0\0\0", false);
    chunk->records[0].extra = ring.add_name("kernel_a");
    chunk->records[0].begin_ticks.store(5);
  });
  OpenedRing opened = open_ring(path());
  ASSERT_TRUE(opened.ring.valid()) << opened.problem;
  EXPECT_FALSE(opened.owner_alive);
  EXPECT_EQ(opened.ring.header().ready.load(), 1u);
  EXPECT_EQ(opened.ring.header().finished.load(), 0u);
  const Chunk& chunk = opened.ring.chunk(0);
  EXPECT_EQ(chunk.thread_id, 77u);
  EXPECT_EQ(chunk.records[0].begin_ticks.load(), 5u);
  EXPECT_EQ(opened.ring.name(chunk.records[0].extra), "kernel_a");
  close_ring(opened);
  EXPECT_FALSE(opened.ring.valid());
}

TEST_F(RingFileTest, AReaderChangesOnlyItsOwnCopy) {
  leave_behind(path(), [](const Ring&) {});
  OpenedRing opened = open_ring(path());
  ASSERT_TRUE(opened.ring.valid());
  opened.ring.header().finished.store(1);
  OpenedRing again = open_ring(path());
  EXPECT_EQ(again.ring.header().finished.load(), 0u);
  close_ring(opened);
  close_ring(again);
}

TEST_F(RingFileTest, LockShowsALivingOwnerAndItsDeath) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    // Here, before its own fork: set by the parent only, the loader could miss it, survive, and
    // keep ctest waiting for the end of the output for ever.
    setpgid(0, 0);
    const CreatedRing created = create_ring(path(), 1 << 20);
    // A data loader that outlives its parent must not make it look alive.
    if (fork() == 0) {
      pause();
      _exit(0);
    }
    const char made = created.path.empty() ? 'n' : 'y';
    if (write(ready[1], &made, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char made = 0;
  ASSERT_EQ(read(ready[0], &made, 1), 1);
  EXPECT_EQ(made, 'y');
  EXPECT_TRUE(owner_holds_lock(path()));
  kill(owner, SIGKILL);
  int status = 0;
  waitpid(owner, &status, 0);
  EXPECT_FALSE(owner_holds_lock(path()));
  kill(-owner, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(RingFileTest, WithoutALockItsAnchorsTellOfAnotherPidNamespace) {
  leave_behind(path(), [](const Ring& ring) {
    add_anchor(ring.header(), {1, event::clock_ns(CLOCK_REALTIME), 1});
  });
  const auto is_alive = [&](const std::function<void(Header&)>& change) {
    change_header(change);
    OpenedRing opened = open_ring(path());
    EXPECT_TRUE(opened.ring.valid()) << opened.problem;
    close_ring(opened);
    return opened.owner_alive;
  };
  EXPECT_FALSE(is_alive([](Header&) {})) << "it had a lock";
  EXPECT_FALSE(is_alive([](Header& header) { header.lockless_in = pid_namespace(); }));
  EXPECT_TRUE(is_alive([](Header& header) { header.lockless_in = pid_namespace() + 1; }));
  EXPECT_FALSE(is_alive([](Header& header) { header.finished.store(1); }));
  EXPECT_FALSE(is_alive([](Header& header) {
    header.finished.store(0);
    header.anchors.tables[0][0].realtime_ns -= 20'000'000'000;
  })) << "it has been silent for too long";
}

TEST_F(RingFileTest, SaysWhereItsOwnerKeepsNoLock) {
  const CreatedRing usual = create_ring(path(), 1 << 20);
  EXPECT_EQ(usual.ring.header().lockless_in, 0U);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few{100, 100};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(1);
    const CreatedRing created = create_ring(path("2-3-0.ring"), 1 << 20);
    const bool is_told = created.fd < 0 && created.ring.header().lockless_in == pid_namespace();
    _exit(is_told ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RingFileTest, RefusesWhatIsNoRing) {
  EXPECT_NE(problem_of(path("missing")).find("No such file"), std::string::npos);
  EXPECT_NE(problem_of(folder_).find("not a ring"), std::string::npos) << problem_of(folder_);
  std::ofstream(path("empty"));
  EXPECT_NE(problem_of(path("empty")).find("not a ring"), std::string::npos);
  std::ofstream(path("text")) << std::string(2 << 20, 'x');
  EXPECT_NE(problem_of(path("text")).find("not a ring"), std::string::npos);
}

// Its maker was killed before the magic number, which is written last.
TEST_F(RingFileTest, KnowsARingThatWasNeverMade) {
  for (const std::uintmax_t size : {0, 1, 4096, 2 << 20}) {
    std::ofstream(path("0-999999999-0.ring"));
    fs::resize_file(path("0-999999999-0.ring"), size);
    OpenedRing opened = open_ring(path("0-999999999-0.ring"));
    EXPECT_TRUE(opened.is_unmade) << size;
    EXPECT_FALSE(opened.owner_alive) << size;
    EXPECT_FALSE(opened.ring.valid()) << size;
  }
  std::ofstream(path("zeros")) << std::string(2 << 20, '\0');
  EXPECT_FALSE(open_ring(path("zeros")).is_unmade) << "anybody's file";
}

TEST_F(RingFileTest, ARingThatIsBeingMadeHasALivingOwner) {
  const std::string own = path("0-" + std::to_string(getpid()) + "-0.ring");
  std::ofstream(own).close();
  EXPECT_TRUE(open_ring(own).owner_alive);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  const std::string dead = path("0-" + std::to_string(child) + "-0.ring");
  std::ofstream(dead).close();
  EXPECT_FALSE(open_ring(dead).owner_alive) << "not waited for, but dead";
  waitpid(child, nullptr, 0);
}

TEST_F(RingFileTest, RefusesATruncatedRing) {
  leave_behind(path(), [](const Ring&) {});
  const std::uint64_t bytes = fs::file_size(path());
  for (const std::uint64_t left :
       {bytes - 1, bytes / 2, sizeof(Header), sizeof(Header) - 1, std::uint64_t{1}}) {
    fs::resize_file(path(), left);
    EXPECT_NE(problem_of(path()), "") << left << " bytes left";
  }
}

TEST_F(RingFileTest, RefusesAnotherLayoutAndNamesBothVersions) {
  leave_behind(path(), [](const Ring&) {});
  change_header([](Header& header) { header.layout_version = 99; });
  const std::string problem = problem_of(path());
  EXPECT_NE(problem.find("99"), std::string::npos) << problem;
  EXPECT_NE(problem.find(std::to_string(layout_version)), std::string::npos) << problem;
}

TEST_F(RingFileTest, RefusesAHeaderThatContradictsTheFile) {
  const std::function<void(Header&)> damages[] = {
      [](Header& header) { header.file_bytes += 1; },
      [](Header& header) { header.names_offset = 0; },
      [](Header& header) { header.names_offset = UINT64_MAX - 100; },
      [](Header& header) { header.names_bytes = UINT64_MAX; },
      [](Header& header) { header.names_bytes += header.chunks_offset; },
      [](Header& header) { header.chunks_offset += 1; },
      [](Header& header) { header.chunks_offset = header.file_bytes + 64; },
      [](Header& header) { header.chunks_offset = 64; },
      [](Header& header) { header.chunk_count += 1; },
      [](Header& header) { header.chunk_count = UINT64_MAX; },
      [](Header& header) { header.magic = 1; },
  };
  for (std::size_t i = 0; i < std::size(damages); ++i) {
    fs::remove(path());
    leave_behind(path(), [](const Ring&) {});
    EXPECT_EQ(problem_of(path()), "");
    change_header(damages[i]);
    EXPECT_NE(problem_of(path()), "") << "damage " << i;
  }
}

TEST_F(RingFileTest, FallsBackToPrivateMemory) {
  const std::string nowhere = path("no/such/folder/0.ring");
  const CreatedRing created = create_ring(nowhere, 1 << 20);
  ASSERT_TRUE(created.ring.valid());
  EXPECT_EQ(created.path, "");
  EXPECT_NE(created.problem.find(nowhere), std::string::npos) << created.problem;
  EXPECT_NE(created.problem.find("TRACEAGENT_RING_FOLDER"), std::string::npos);
  EXPECT_NE(claim_chunk(created.ring, 1, "thread\0\0\0\0\0\0\0\0\0", false), nullptr);
  if (created.fd >= 0) close(created.fd);
}

// A page that was not granted would be a SIGBUS.
void touch_last_chunk(const Ring& ring) {
  Chunk& last = ring.chunk(ring.chunk_count() - 1);
  for (event::Record& record : last.records) record.begin_ticks.store(1);
}

// A limit lasts for the process.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(RingFileTest, TakesLessWhereFilesMayNotBeLarge) {
  EXPECT_EQ(in_child([&] {
              const rlimit limit{2 << 20, 2 << 20};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              const CreatedRing created = create_ring(path(), 16 << 20);
              if (!created.ring.valid() || created.path.empty()) return 2;
              if (created.ring.header().file_bytes > (2 << 20)) return 3;
              if (created.problem.find("KiB were granted") == std::string::npos) return 4;
              touch_last_chunk(created.ring);
              return 0;
            }),
            0);
}

TEST_F(RingFileTest, TakesLessWhereTheFileSystemIsSmall) {
  const std::string mount_point = path("small");
  fs::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=3m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  const CreatedRing created = create_ring(mount_point + "/0.ring", 16 << 20);
  EXPECT_TRUE(created.ring.valid());
  EXPECT_NE(created.path, "");
  EXPECT_NE(created.problem.find("KiB were granted"), std::string::npos) << created.problem;
  if (created.ring.valid()) {
    EXPECT_LT(created.ring.header().file_bytes, 3u << 20);
    touch_last_chunk(created.ring);
    munmap(&created.ring.header(), created.ring.header().file_bytes);
  }
  close(created.fd);
  umount2(mount_point.c_str(), MNT_DETACH);
}

// A container's default. NCCL's segments and the data loaders' are to find room there.
TEST_F(RingFileTest, LeaveRoomToTheJobWhereTheFileSystemIsSmall) {
  const std::string mount_point = path("container");
  fs::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=64m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  const auto free_bytes = [&] { return fs::space(mount_point).available; };
  // Its file stays, as of a job that is killed.
  int rings = 0;
  const auto make_ring = [&](std::uint64_t wanted_bytes) {
    CreatedRing made =
        create_ring(mount_point + "/" + std::to_string(rings++) + ".ring", wanted_bytes);
    EXPECT_TRUE(made.ring.valid());
    if (!made.path.empty()) {
      EXPECT_EQ(fs::file_size(made.path), made.ring.header().file_bytes);
    }
    munmap(&made.ring.header(), made.ring.header().file_bytes);
    close(made.fd);
    return made;
  };
  for (int rank = 0; rank < 8; ++rank) {
    const CreatedRing made = make_ring(64 << 20);
    EXPECT_GT(fs::file_size(made.path), 1u << 20);
    EXPECT_NE(made.problem.find("--shm-size"), std::string::npos) << made.problem;
  }
  EXPECT_GE(free_bytes(), 48u << 20);
  CreatedRing last;
  for (int restart = 0; restart < 200 && !last.is_crowded_out; ++restart) last = make_ring(4 << 20);
  EXPECT_TRUE(last.is_crowded_out);
  EXPECT_EQ(last.path, "");
  EXPECT_NE(last.problem.find("recover --list"), std::string::npos) << last.problem;
  EXPECT_GE(free_bytes(), 16u << 20);
  EXPECT_LT(free_bytes(), 17u << 20);
  umount2(mount_point.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace traceagent::ring
