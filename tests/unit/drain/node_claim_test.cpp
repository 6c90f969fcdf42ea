#include "agent/drain/node_claim.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace traceagent::drain {
namespace {

namespace fs = std::filesystem;

class NodeClaimTest : public testing::Test {
 protected:
  NodeClaimTest() {
    char name[] = "/tmp/traceagent-test-XXXXXX";
    folder_ = mkdtemp(name);
    file_ = folder_ + "/all.json";
  }
  ~NodeClaimTest() override { fs::remove_all(folder_); }

  // It is gone again.
  std::string link_of_claim() const {
    const NodeClaim claim(file_, "run", 3, 8);
    return fs::directory_iterator(folder_)->path().string();
  }

  std::string folder_, file_;
};

TEST_F(NodeClaimTest, OneNodeAtATime) {
  {
    const NodeClaim first(file_, "run", 3, 8);
    EXPECT_FALSE(first.other_node());
    EXPECT_EQ(NodeClaim(file_, "run", 4, 8).other_node(), 3);
    EXPECT_EQ(NodeClaim(file_, "run", 0, 8).other_node(), 3);
    EXPECT_FALSE(NodeClaim(file_, "another run", 4, 8).other_node());
    EXPECT_FALSE(NodeClaim(folder_ + "/other.json", "run", 4, 8).other_node());
    EXPECT_FALSE(fs::exists(file_));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(NodeClaim(file_, "run", 4, 8).other_node());
}

TEST_F(NodeClaimTest, OfAKilledProcessItIsItsNodes) {
  const std::string link = link_of_claim();
  ASSERT_EQ(symlink("node-3", link.c_str()), 0);
  EXPECT_EQ(NodeClaim(file_, "run", 5, 8).other_node(), 3);
  EXPECT_TRUE(fs::is_symlink(link));
  {
    NodeClaim own(file_, "run", 3, 8);
    EXPECT_FALSE(own.other_node());
    own.file_is_made();
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Of another container of the node, which may merge still: until there is a file.
TEST_F(NodeClaimTest, OnesOwnNodesStaysWithoutAFile) {
  {
    const NodeClaim first(file_, "run", 3, 8);
    EXPECT_FALSE(NodeClaim(file_, "run", 3, 8).other_node());
    EXPECT_EQ(NodeClaim(file_, "run", 5, 8).other_node(), 3);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

// A key that comes again, and now with fewer nodes: the claim's was killed and comes no more.
TEST_F(NodeClaimTest, OfANodeThatIsNotThereItIsNobodys) {
  const std::string link = link_of_claim();
  ASSERT_EQ(symlink("node-3", link.c_str()), 0);
  EXPECT_EQ(NodeClaim(file_, "run", 1, 4).other_node(), 3);
  {
    const NodeClaim taken(file_, "run", 1, 2);
    EXPECT_FALSE(taken.other_node());
    EXPECT_EQ(taken.link(), link);
    EXPECT_EQ(NodeClaim(file_, "run", 0, 2).other_node(), 1);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(nodes_of(16, 8), 2);
  EXPECT_EQ(nodes_of(9, 8), 9);
}

TEST_F(NodeClaimTest, ThoseOfANodesClaimantAreFound) {
  const NodeClaim own(folder_ + "/included-1", "run", 3, 8, "71-2");
  const NodeClaim others(folder_ + "/included-2", "run", 4, 8, "71-2");
  const NodeClaim of_another_run(folder_ + "/included-3", "again", 3, 8, "71-2");
  const NodeClaim of_a_file(file_, "run", 3, 8, "71-2");
  const NodeClaim of_another_container(folder_ + "/included-4", "run", 3, 8, "71-20");
  const NodeClaim by_hand(folder_ + "/included-5", "run", 3, 8);
  const auto found = [this](const char* claimant) {
    return links_of_node(folder_, included_name, "run", 3, claimant);
  };
  EXPECT_EQ(found("71-2"), std::set<std::string>{own.link()});
  EXPECT_EQ(found(""), std::set<std::string>{by_hand.link()});
  EXPECT_TRUE(links_of_node(folder_ + "/none", included_name, "run", 3, "").empty());
}

// Whatever version of ours made it.
TEST_F(NodeClaimTest, OthersReadTheNodeOfAClaimant) {
  const NodeClaim claim(file_, "run", 3, 8, "71-2");
  EXPECT_EQ(NodeClaim(file_, "run", 5, 8).other_node(), 3);
  EXPECT_FALSE(NodeClaim(file_, "run", 3, 8, "71-20").other_node());
}

TEST_F(NodeClaimTest, WhereNoneCanBeMadeItIsAsWithout) {
  EXPECT_FALSE(NodeClaim(folder_ + "/none/all.json", "run", 1, 8).other_node());
  EXPECT_FALSE(NodeClaim("/proc/all.json", "run", 1, 8).other_node());
  const std::string link = link_of_claim();
  std::ofstream(link) << "somebody's";
  EXPECT_FALSE(NodeClaim(file_, "run", 1, 8).other_node());
  EXPECT_TRUE(fs::exists(link));
}

}  // namespace
}  // namespace traceagent::drain
