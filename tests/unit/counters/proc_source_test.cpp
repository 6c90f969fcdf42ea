#include "agent/counters/proc_source.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/counters/recorded.hpp"

namespace traceagent::counters {
namespace {

namespace fs = std::filesystem;

class ProcSourceTest : public testing::Test {
 protected:
  ~ProcSourceTest() override { fs::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root + path).substr(0, (root + path).rfind('/')));
    std::ofstream(root + path) << text;
  }
  void disks(const std::vector<std::pair<std::string, int>>& sectors_read) const {
    std::string text;
    for (const auto& [name, sectors] : sectors_read) {
      text += "8 0 " + name + " 1 1 " + std::to_string(sectors) + " 1 1 1 0 1 0 1 1\n";
    }
    write("/proc/diskstats", text);
  }

  const std::string root = testing::TempDir() + "proc_source." + std::to_string(getpid());
  ProcSource source{{.process = false, .node = true}, root};
  Recorded recorded;
};

TEST_F(ProcSourceTest, ATotalThatLacksSomethingIsAGap) {
  fs::create_directories(root + "/sys/block/sda/device");
  disks({{"sda", 10}});
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  disks({{"sda", 5}});
  source.sample(recorded.recorder);
  disks({{"sda", 7}});
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::node_disks);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_NE(samples[0].valid, 0);
  EXPECT_EQ(samples[1].valid, 0);
  EXPECT_NE(samples[2].valid, 0);
  EXPECT_EQ(samples[2].values[0], 2U * 512);
  EXPECT_EQ(recorded.samples(Counter::node_network).size(), 0U);
}

// The disk that is mounted, of the subsystem, and its two paths, each of a controller.
TEST_F(ProcSourceTest, NvmeOfSeveralPathsCountsOnce) {
  write("/sys/block/nvme0n1/device/iopolicy", "numa\n");
  for (const char* path : {"nvme0c0n1", "nvme0c1n1"}) {
    fs::create_directories(root + "/sys/block/" + path + "/device");
  }
  disks({{"nvme0c0n1", 10}, {"nvme0c1n1", 10}, {"nvme0n1", 20}});
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  disks({{"nvme0c0n1", 13}, {"nvme0c1n1", 14}, {"nvme0n1", 27}});
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::node_disks);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[1].values[0], 7U * 512);
}

}  // namespace
}  // namespace traceagent::counters
