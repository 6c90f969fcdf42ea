#include "agent/process/private_workers.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "agent/process/node_view.hpp"
#include "agent/process/peers.hpp"
#include "agent/process/spared.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

// Later than anybody but a rank is waited for.
constexpr std::uint64_t late_ns = 2'000'000'000;

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

// Who has no ring in the folder is a rank all the same: it is waited for, and may be the one that
// merges.
TEST_F(PrivateWorkersTest, RankIsOne) {
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  const pid_t rank = fork();
  if (rank == 0) {
    ring::take_private_place(folder_.path, 8, 0, true);
    _exit(write(said[1], "1", 1) == 1 ? pause() : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(said[0], &byte, 1), 1);
  NodeView node;
  std::string problem;
  node.peers = look_at_peers(folder_, "", {}, problem);
  EXPECT_TRUE(node.has_living_zero());
  EXPECT_FALSE(node.all_awaited_gone(late_ns));
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  node.peers = look_at_peers(folder_, "", {}, problem);
  EXPECT_FALSE(node.has_living_zero());
  EXPECT_TRUE(node.all_awaited_gone(late_ns));
  for (const int fd : said) close(fd);
}

// One that lives.
NodeView of_one_worker(pid_t pid) {
  NodeView node;
  Peer& peer = node.peers.emplace_back();
  peer.rank = 3;
  peer.trace_pid = 1'000'003;
  peer.alive = true;
  peer.pid = static_cast<std::uint32_t>(pid);
  return node;
}

// It may wait for the end of this process, which merges.
TEST(NodeView, AwaitsNoParentThatIsNoRank) {
  NodeView node = of_one_worker(getpid());
  Peer& peer = node.peers.front();
  EXPECT_FALSE(node.all_awaited_gone(0));
  peer.pid = static_cast<std::uint32_t>(getppid());
  EXPECT_TRUE(node.all_awaited_gone(0));
  EXPECT_FALSE(node.all_gone()) << "what it writes is still to come";
  peer.trace_pid = peer.rank;
  EXPECT_FALSE(node.all_awaited_gone(late_ns)) << "a rank that another has started";
}

// It may end only when this process has.
TEST(NodeView, AwaitsChildrenForAMoment) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(told[1]);
    char byte = 0;
    _exit(static_cast<int>(read(told[0], &byte, 1)));
  }
  NodeView node = of_one_worker(child);
  Peer& peer = node.peers.front();
  EXPECT_FALSE(node.all_awaited_gone(0)) << "it may be ending";
  EXPECT_TRUE(node.all_awaited_gone(late_ns / 10));
  peer.trace_pid = peer.rank;
  EXPECT_FALSE(node.all_awaited_gone(late_ns)) << "a rank of its own";
  peer.trace_pid = 1'000'003;
  peer.pid = static_cast<std::uint32_t>(getpid());
  EXPECT_FALSE(node.all_awaited_gone(late_ns / 10)) << "no child";
  close(told[1]);
  close(told[0]);
  waitpid(child, nullptr, 0);
}

// As who merges sees it: its files are still to come.
TEST_F(PrivateWorkersTest, ArePeers) {
  int said[2], told[2];
  ASSERT_TRUE(pipe(said) == 0 && pipe(told) == 0);
  const pid_t worker = fork();
  if (worker == 0) {
    const ring::PrivatePlace own = ring::take_private_place(folder_.path, 7, 3, false);
    char byte = 0;
    if (write(said[1], "1", 1) != 1 || read(told[0], &byte, 1) != 1) _exit(1);
    ring::finish_private_worker(own);
    _exit(write(said[1], "2", 1) == 1 ? pause() : 1);
  }
  char byte = 0;
  std::string problem;
  ASSERT_EQ(read(said[0], &byte, 1), 1);
  NodeView node;
  const auto look = [&] { node.peers = look_at_peers(folder_, "", {}, problem); };
  look();
  ASSERT_EQ(node.peers.size(), 1u);
  EXPECT_EQ(node.peers[0].rank, 7);
  EXPECT_FALSE(node.all_gone());
  EXPECT_TRUE(node.all_awaited_gone(late_ns));
  EXPECT_FALSE(node.has_living_zero());
  ASSERT_EQ(write(told[1], "1", 1), 1);
  ASSERT_EQ(read(said[0], &byte, 1), 1);
  look();
  EXPECT_TRUE(node.all_gone());
  EXPECT_TRUE(node.any_alive()) << "it may be the one that merges";

  // Who takes the run's folder away leaves what it has not seen.
  const Spared newcomers(folder_, {}, {}, getpid());
  EXPECT_TRUE(newcomers.has(ring::private_workers_note));
  const Spared none(folder_, {node.peers[0].ring_path}, {}, getpid());
  EXPECT_FALSE(none.has(ring::private_workers_note));
  const Spared kept(folder_, {node.peers[0].ring_path}, {"0-1-0.ring"}, getpid());
  EXPECT_TRUE(kept.has(ring::private_workers_note));
  EXPECT_TRUE(kept.has(ring::older_run_note))
      << "or an older run's files are recovered with this one's";
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  look();
  EXPECT_FALSE(node.any_alive());
  EXPECT_EQ(problem, "");
  for (const int fd : {said[0], said[1], told[0], told[1]}) close(fd);
}

}  // namespace
}  // namespace traceagent::process
