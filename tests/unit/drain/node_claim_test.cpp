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
    const NodeClaim claim(file_, "run", 3);
    return fs::directory_iterator(folder_)->path().string();
  }

  std::string folder_, file_;
};

TEST_F(NodeClaimTest, OneNodeAtATime) {
  {
    const NodeClaim first(file_, "run", 3);
    EXPECT_FALSE(first.other_node());
    EXPECT_EQ(NodeClaim(file_, "run", 4).other_node(), 3);
    EXPECT_EQ(NodeClaim(file_, "run", 0).other_node(), 3);
    EXPECT_FALSE(NodeClaim(file_, "another run", 4).other_node());
    EXPECT_FALSE(NodeClaim(folder_ + "/other.json", "run", 4).other_node());
    EXPECT_FALSE(fs::exists(file_));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(NodeClaim(file_, "run", 4).other_node());
}

TEST_F(NodeClaimTest, OfAKilledProcessItIsItsNodes) {
  const std::string link = link_of_claim();
  ASSERT_EQ(symlink("node-3", link.c_str()), 0);
  EXPECT_EQ(NodeClaim(file_, "run", 5).other_node(), 3);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(NodeClaim(file_, "run", 3).other_node());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(NodeClaimTest, WhereNoneCanBeMadeItIsAsWithout) {
  EXPECT_FALSE(NodeClaim(folder_ + "/none/all.json", "run", 1).other_node());
  EXPECT_FALSE(NodeClaim("/proc/all.json", "run", 1).other_node());
  const std::string link = link_of_claim();
  std::ofstream(link) << "somebody's";
  EXPECT_FALSE(NodeClaim(file_, "run", 1).other_node());
  EXPECT_TRUE(fs::exists(link));
}

}  // namespace
}  // namespace traceagent::drain
