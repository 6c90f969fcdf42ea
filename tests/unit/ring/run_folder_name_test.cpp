#include "agent/ring/run_folder_name.hpp"

#include <gtest/gtest.h>

namespace traceagent::ring {
namespace {

TEST(RunFolderName, NamesEachNodeButTheFirst) {
  EXPECT_EQ(run_folder_name("slurm17", 0), "slurm17");
  EXPECT_EQ(run_folder_name("slurm17", -1), "slurm17");
  EXPECT_EQ(run_folder_name("slurm17", 1), "slurm17@node1");
  EXPECT_NE(run_folder_name("slurm17@node1", 0), run_folder_name("slurm17", 1))
      << "a key that looks like it";
}

TEST(RunFolderName, LongKeysKeepTheirNode) {
  const std::string key(5000, 'k');
  EXPECT_NE(run_folder_name(key, 0), run_folder_name(key, 1));
  EXPECT_LT(run_folder_name(key, 1LL << 31).size(), 150u);
}

TEST(RunFolderName, IsKnownForAnyNodeOfItsRun) {
  for (const std::string& key : {std::string("slurm17"), std::string("../x"), std::string()}) {
    for (const std::int64_t node : {0, 1, 12}) {
      EXPECT_TRUE(is_run_folder_name(run_folder_name(key, node), key)) << key << node;
    }
  }
  for (const char* other : {"slurm1", "slurm170", "slurm170@node1", "slurm17.dead-4",
                            "slurm17@node", "slurm17@node1.dead-4", "slurm17@nodes"}) {
    EXPECT_FALSE(is_run_folder_name(other, "slurm17")) << other;
  }
}

}  // namespace
}  // namespace traceagent::ring
