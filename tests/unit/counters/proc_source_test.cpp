#include "agent/counters/proc_source.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

std::uint64_t written_of_all() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  while (io >> name >> bytes) {
    if (name == "write_bytes:") return bytes;
  }
  return 0;
}

void write_and_sync(const std::string& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::string block(bytes, 'x');
  EXPECT_EQ(write(file, block.data(), block.size()), static_cast<ssize_t>(block.size()));
  fsync(file);
  close(file);
}

// The kernel adds what it has written to its parent's when that waits for it.
TEST_F(ProcSourceTest, WhatAChildWroteIsNotTheProcesss) {
  constexpr std::size_t of_child = 8 << 20, own = 1 << 20;
  fs::create_directories(root);
  ProcSource process({.process = true, .node = false});
  process.open_files(recorded.recorder);
  const std::uint64_t before = written_of_all();
  process.sample(recorded.recorder);
  const pid_t child = fork();
  if (child == 0) {
    write_and_sync(root + "/written", of_child);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  process.sample(recorded.recorder);
  if (written_of_all() - before < of_child) GTEST_SKIP() << root << " is on no storage";
  write_and_sync(root + "/written", own);
  process.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::process_storage);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_LT(samples[1].values[1] - samples[0].values[1], of_child / 8);
  EXPECT_GE(samples[2].values[1] - samples[1].values[1], own);
  EXPECT_LT(samples[2].values[1] - samples[1].values[1], own + of_child / 8);
}

// Of Azure's two that are one card, the kernel's own counts what went through the other.
TEST_F(ProcSourceTest, AnInterfaceBelowAnotherWithADeviceCountsOnce) {
  for (const char* name : {"eth0", "enP1s1", "eth1"}) {
    fs::create_directories(root + "/sys/class/net/" + name + "/device");
  }
  fs::create_symlink("../eth0", root + "/sys/class/net/enP1s1/master");
  fs::create_directories(root + "/sys/class/net/bond0/bonding");
  fs::create_symlink("../bond0", root + "/sys/class/net/eth1/master");
  const auto network = [this](int bytes) {
    std::string text;
    for (const char* name : {"eth0", "enP1s1", "eth1", "bond0"}) {
      text += std::string(name) + ": " + std::to_string(bytes) + " 1 0 0 0 0 0 0 " +
              std::to_string(bytes) + " 1 0 0 0 0 0 0\n";
    }
    write("/proc/net/dev", text);
  };
  network(0);
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  network(1000);
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::node_network);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[1].values[0] - samples[0].values[0], 2000U) << "of eth0 and eth1";
}

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

// Else it would show a rate of nothing, and then twice the disks' own.
TEST_F(ProcSourceTest, WhatCannotBeReadIsNoSampleOfTheTotalsBefore) {
  fs::create_directories(root + "/sys/block/sda/device");
  disks({{"sda", 10}});
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  write("/proc/diskstats", "");
  source.sample(recorded.recorder);
  disks({{"sda", 12}});
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::node_disks);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[1].values[0], 2U * 512);
}

bool says(const std::vector<std::string>& notes, const std::string& text) {
  return std::find(notes.begin(), notes.end(), text) != notes.end();
}

TEST_F(ProcSourceTest, WhatCannotBeReadIsTold) {
  fs::create_directories(root + "/proc/meminfo");  // it can be opened, not read
  fs::create_directories(root + "/proc/self/cgroup");
  disks({});
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  source.sample(recorded.recorder);
  const auto notes = recorded.not_covered();
  EXPECT_TRUE(says(notes, "node memory: Is a directory in some samples"));
  EXPECT_TRUE(says(notes, "control group memory: Is a directory in some samples"));
  EXPECT_TRUE(says(notes, "node CPU: /proc/stat: No such file or directory"));
  EXPECT_EQ(notes.size(), 4U);  // and the network; each once
  EXPECT_EQ(recorded.samples(Counter::node_memory).size(), 0U);
}

// A disk that nobody can tell from a partition is not counted, and that is told.
TEST_F(ProcSourceTest, ADeviceThatCannotBeAskedForIsTold) {
  write("/proc/self/cgroup", "");
  const std::string long_name(300, 'd');  // no name of a file
  fs::create_directories(root + "/sys/block/sda/device");
  fs::create_directories(root + "/sys/class/net");
  disks({{"sda", 10}, {long_name, 10}});
  write("/proc/net/dev", " " + long_name + ": 1 0 0 0 0 0 0 0 1 0\n eth0: 5 0 0 0 0 0 0 0 5 0\n");
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  const auto notes = recorded.not_covered();
  EXPECT_TRUE(says(notes, "node disks: " + long_name + ": File name too long"));
  EXPECT_TRUE(says(notes, "node network: " + long_name + ": File name too long"));
  EXPECT_EQ(recorded.samples(Counter::node_disks).size(), 1U);
  EXPECT_EQ(recorded.samples(Counter::node_network).size(), 1U);
}

TEST_F(ProcSourceTest, DevicesThatAreLeftOutAreTold) {
  const std::string note = "node disks: more devices than are followed: some are left out";
  fs::create_directories(root + "/sys/block");
  std::vector<std::pair<std::string, int>> all;
  while (all.size() < DeviceTotals::most_devices)
    all.emplace_back("sd" + std::to_string(all.size()), 1);
  disks(all);
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  EXPECT_FALSE(says(recorded.not_covered(), note));
  all.emplace_back("sdnew", 1);
  disks(all);
  source.sample(recorded.recorder);
  EXPECT_TRUE(says(recorded.not_covered(), note));
}

// Many long lines: what is not read at all.
TEST_F(ProcSourceTest, AListThatIsNotReadToItsEndIsTold) {
  std::string text;
  while (text.size() < 300'000)
    text += "8 0 sda 1 1 1" + std::string(400, '0') + " 1 1 1 0 1 0 1 1\n";
  write("/proc/diskstats", text);
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  EXPECT_TRUE(says(recorded.not_covered(),
                   "node disks: more devices than are followed: some are left out"));
}

TEST_F(ProcSourceTest, AGroupThatHasNoFileIsNotMissing) {
  write("/proc/self/cgroup", "0::/here\n");
  const std::string group = "/sys/fs/cgroup/here/";
  write(group + "memory.current", "5\n");
  write(group + "memory.max", "7\n");
  for (const char* file : {"/proc/stat", "/proc/meminfo", "/proc/diskstats", "/proc/net/dev"}) {
    write(file, "");
  }
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::group_memory);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].values[0], 5U);
  EXPECT_EQ(samples[0].values[1], 7U);
  fs::remove_all(root + "/sys/fs/cgroup");
  ProcSource without({.process = false, .node = true}, root);
  without.open_files(recorded.recorder);
  without.sample(recorded.recorder);
  EXPECT_EQ(recorded.samples(Counter::group_memory).size(), 1U);
  EXPECT_EQ(recorded.not_covered().size(), 0U);
}

// Slurm's: the step has the limit, and its tasks share it.
TEST_F(ProcSourceTest, AGroupsMemoryIsThatOfTheNearestThatHasALimit) {
  write("/proc/self/cgroup", "0::/job/step/task_0\n");
  const std::string step = "/sys/fs/cgroup/job/step/";
  for (const auto& [file, text] : {std::pair("memory.current", "64"),
                                   {"memory.max", "68"},
                                   {"task_0/memory.current", "8"},
                                   {"task_0/memory.max", "max"}}) {
    write(step + file, std::string(text) + "\n");
  }
  source.open_files(recorded.recorder);
  source.sample(recorded.recorder);
  const auto samples = recorded.samples(Counter::group_memory);
  EXPECT_EQ(samples.at(0).values[0], 64U);
  EXPECT_EQ(samples.at(0).values[1], 68U);
}

}  // namespace
}  // namespace traceagent::counters
