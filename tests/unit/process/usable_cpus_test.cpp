#include "agent/process/usable_cpus.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

class CpuQuota : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = folder.path().string() + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  double quota() const { return cpu_quota(folder.path().string()); }

  trace::ScratchFolder folder;
};

TEST_F(CpuQuota, OfAContainersOwnGroup) {
  file("/proc/self/cgroup", "0::/\n");
  file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(CpuQuota, IsTheLeastOfAllAround) {
  file("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  file("/sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
  file("/sys/fs/cgroup/slurm/job_7/cpu.max", "200000 100000\n");
  file("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuota, OfVersionOneUnderAPathOfTheHosts) {
  file("/proc/self/cgroup", "5:cpuset:/docker/ab\n4:cpu,cpuacct:/docker/ab\n0::/docker/ab\n");
  file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.5);
  file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(CpuQuota, IsNoneWhereNothingSaysSo) {
  EXPECT_EQ(quota(), 0);
  file("/proc/self/cgroup", "0::/../../x\nodd\n1:\n7:cpuacct:/\n");
  file("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  file("/sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(quota(), 0);
}

TEST(UsableCpus, AreTheMasksOrAShareOfTheNodes) {
  EXPECT_EQ(usable_cpus({64, 8, 0}, 8), 8);   // pinned: its own
  EXPECT_EQ(usable_cpus({64, 64, 0}, 8), 8);  // all may use all
  EXPECT_EQ(usable_cpus({64, 0, 0}, 8), 8);   // refused
  EXPECT_EQ(usable_cpus({2, 2, 0}, 4), 1);
}

TEST(UsableCpus, AreNotAllOfAMaskThatRanksShare) {
  EXPECT_EQ(usable_cpus({64, 63, 0}, 8), 8);
  EXPECT_EQ(usable_cpus({64, 32, 0}, 8), 8);
  EXPECT_EQ(usable_cpus({64, 32, 32}, 8), 4);
  EXPECT_EQ(usable_cpus({64, 63, 0}, 1), 63);
  EXPECT_EQ(usable_cpus({64, 4, 0}, 8), 4);  // pinned, and half of the node is nobody's
}

TEST(UsableCpus, AreNoMoreThanTheQuota) {
  EXPECT_EQ(usable_cpus({64, 64, 4}, 1), 4);
  EXPECT_EQ(usable_cpus({64, 64, 16}, 8), 2);
  EXPECT_EQ(usable_cpus({64, 2, 4}, 1), 2);
  EXPECT_EQ(usable_cpus({64, 64, 2}, 4), 1);
  EXPECT_EQ(usable_cpus({64, 64, 0.5}, 4), 0.5);
}

}  // namespace
}  // namespace traceagent::process
