#include "agent/process/include_claims.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "agent/drain/node_claim.hpp"
#include "agent/process/agent.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

class IncludeClaimsTest : public ::testing::Test {
 protected:
  IncludeClaimsTest() {
    agent_.ring.ring = crafted_.ring();
    agent_.identity.run_key = "run";
    agent_.identity.node_rank = 1;
    agent_.pid = 71;
    std::filesystem::create_directories(include_claims_folder(agent_));
    trace::write_whole(node_path_, "{}");
  }

  // Of a tool that cannot give it back.
  std::string claim(const char* name, const std::string& claimant) const {
    const std::string file =
        include_claims_folder(agent_) + "/" + std::string(drain::included_name) + name;
    drain::NodeClaim made(file, "run", 1, 4, claimant);
    made.keep();
    EXPECT_TRUE(is_claimed(made.link()));
    return made.link();
  }
  static bool is_claimed(const std::string& link) {
    return std::filesystem::is_symlink(std::filesystem::symlink_status(link));
  }

  trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "out", node_path_ = scratch_ / "node1.json";
  drain::CraftedRing crafted_{folder_};
  Agent agent_;
};

TEST_F(IncludeClaimsTest, OnlyWhatTheKilledToolHasClaimedIsNobodys) {
  const std::string earlier = claim("1", IncludeClaims(agent_, node_path_).claimant());
  const IncludeClaims claims(agent_, node_path_);
  const std::string own = claim("2", claims.claimant());
  const std::string of_another_container = claim("3", "71-1");
  const std::string by_hand = claim("4", "");
  claims.undo();
  EXPECT_FALSE(is_claimed(own));
  EXPECT_TRUE(is_claimed(earlier));
  EXPECT_TRUE(is_claimed(of_another_container));
  EXPECT_TRUE(is_claimed(by_hand));
}

TEST_F(IncludeClaimsTest, WhereTheNodesFileIsAnotherTheyStay) {
  const IncludeClaims claims(agent_, node_path_);
  const std::string own = claim("1", claims.claimant());
  std::filesystem::rename(node_path_, node_path_ + ".old");
  trace::write_whole(node_path_, "{}");
  claims.undo();
  EXPECT_TRUE(is_claimed(own));
}

}  // namespace
}  // namespace traceagent::process
