#include "agent/process/placement.hpp"

#include <gtest/gtest.h>

#include "tests/unit/config/variables.hpp"

namespace traceagent::process {
namespace {

TEST(SlurmTasks, OnEachNode) {
  EXPECT_EQ(slurm_tasks_on_node("4", 0), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 0), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 1), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 2), 3);
  EXPECT_EQ(slurm_tasks_on_node("1,2(x3),8", 3), 2);
  EXPECT_EQ(slurm_tasks_on_node("1,2(x3),8", 4), 8);
  EXPECT_EQ(slurm_tasks_on_node("8(x10000)", 9999), 8);
}

TEST(SlurmTasks, NoSuchNodeOrNoSuchText) {
  EXPECT_EQ(slurm_tasks_on_node("4", 1), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 3), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("four", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("4(x", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("4(xx)", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("4(x2", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node(",4", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("-4", 0), std::nullopt);
}

TEST(Placements, AreInTheOrderOfTrust) {
  const config::Variables variables{"SLURM_PROCID=3", "SLURM_STEP_ID=0", "PMI_RANK=2",
                                    "OMPI_COMM_WORLD_RANK=1", "RANK=0"};
  const Placements placements = find_placements(variables.environment(), {});
  std::string sources;
  for (const Placement& placement : placements.found) sources += placement.source + ' ';
  EXPECT_EQ(sources, "options torchrun Open MPI MPICH or Intel MPI Slurm ");
}

TEST(Placements, NumbersThatAreNoneAreNamed) {
  const config::Variables variables{"RANK=general", "LOCAL_RANK=x", "OMPI_COMM_WORLD_RANK=2",
                                    "OMPI_COMM_WORLD_SIZE=-4", "PMI_RANK=99999999999999"};
  const Placements placements = find_placements(variables.environment(), {});
  ASSERT_EQ(placements.found.size(), 2U);
  EXPECT_EQ(placements.found[1].source, "Open MPI");
  EXPECT_EQ(placements.found[1].world_size, std::nullopt);
  EXPECT_EQ(
      placements.problems,
      (std::vector<std::string>{
          "bad rank: RANK: \"general\": not a whole number from 0; going on as if it were not set",
          "bad rank: OMPI_COMM_WORLD_SIZE: \"-4\": not a whole number from 0; going on as if "
          "it were not set",
          "bad rank: PMI_RANK: \"99999999999999\": not a whole number from 0; going on as if it "
          "were not set"}));
}

TEST(Placements, EmptyVariablesAreNotSet) {
  const config::Variables variables{"RANK=", "SLURM_PROCID="};
  const Placements placements = find_placements(variables.environment(), {});
  EXPECT_EQ(placements.found.size(), 1U);
  EXPECT_TRUE(placements.problems.empty());
}

}  // namespace
}  // namespace traceagent::process
