// What nobody tells of a rank's node is known for a guess: files of two nodes may have one number.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/process/identity.hpp"
#include "tests/unit/config/variables.hpp"

namespace traceagent::process {
namespace {

// "node", "size", "node size" or "".
std::string guesses(const std::vector<std::string>& variables) {
  const ProcFacts facts{"node7", 1795132800, 100, {{500, 360000, {"./train"}, true, {}}}};
  const Identity identity = identify({}, config::Variables(variables).environment(), facts);
  const std::string node = identity.is_node_rank_guess ? "node" : "";
  const std::string size = identity.is_local_world_size_guess ? "size" : "";
  return node + (node.empty() || size.empty() ? "" : " ") + size;
}

std::vector<std::string> open_mpi(const std::string& size, const std::string& local_size) {
  return {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=" + size, "OMPI_COMM_WORLD_LOCAL_RANK=1",
          "OMPI_COMM_WORLD_LOCAL_SIZE=" + local_size};
}

TEST(IdentityGuesses, OpenMpiDoesNotNumberItsNodes) {
  EXPECT_EQ(guesses(open_mpi("4", "2")), "node");
  EXPECT_EQ(guesses(open_mpi("2", "2")), "") << "one node";
}

TEST(IdentityGuesses, TorchrunTellsAll) {
  EXPECT_EQ(guesses({"RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0",
                     "TORCHELASTIC_RUN_ID=a"}),
            "");
}

TEST(IdentityGuesses, ByHandTheNodesSizeMayBeLeftOut) {
  EXPECT_EQ(guesses({"RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1", "MASTER_ADDR=10.0.0.1",
                     "MASTER_PORT=29500"}),
            "node size");
}

TEST(IdentityGuesses, AProcessAloneHasNone) { EXPECT_EQ(guesses({"PATH=/bin"}), ""); }

}  // namespace
}  // namespace traceagent::process
