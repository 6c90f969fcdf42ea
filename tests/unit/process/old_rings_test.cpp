#include "agent/process/old_rings.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "agent/process/agent.hpp"
#include "agent/process/private_workers.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20;

class OldRingsTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(scratch / path).parent_path());
    trace::write_whole(scratch / path, text);
  }
  std::uint64_t group_bytes() const { return group_memory_bytes(scratch.path().string()); }
  trace::ScratchFolder scratch;
};

TEST_F(OldRingsTest, AGroupsMemoryIsItsLimit) {
  EXPECT_EQ(group_bytes(), UINT64_MAX) << "no groups";
  write("proc/self/cgroup", "0::/job\n");
  EXPECT_EQ(group_bytes(), UINT64_MAX);
  write("sys/fs/cgroup/memory.max", "2000000\n");
  EXPECT_EQ(group_bytes(), 2'000'000U) << "of a container whose path is the host's";
  write("sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(group_bytes(), 2'000'000U) << "of what holds it, as of a step that Slurm limits";
  write("sys/fs/cgroup/job/memory.max", "1000000\n");
  EXPECT_EQ(group_bytes(), 1'000'000U);
  write("proc/self/cgroup", "4:memory:/old\n0::/job\n");
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "3000000\n");
  EXPECT_EQ(group_bytes(), 3'000'000U);
}

TEST_F(OldRingsTest, ManyRanksMayLeaveMore) {
  Agent agent;
  agent.run_folder.path = "/dev/shm";
  agent.options.ring_size = 32 * mib;
  const std::uint64_t most = std::min(fs::space("/dev/shm").capacity, group_memory_bytes("")) / 4;
  agent.identity.local_world_size = 4;
  EXPECT_EQ(most_old_bytes(agent), std::min(512 * mib, most));
  agent.identity.local_world_size = 16;
  EXPECT_EQ(most_old_bytes(agent), std::min(1024 * mib, most));
}

}  // namespace
}  // namespace traceagent::process
