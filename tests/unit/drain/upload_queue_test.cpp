#include "agent/drain/upload_queue.hpp"

#include <gtest/gtest.h>

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

TEST(UploadQueue, SaysWhatLiesOutsideTheFolder) {
  CraftedRing crafted("/none/out");
  EXPECT_EQ(queue_node_file(crafted.ring(), "/elsewhere/node1.json"), "");
  ring::IdentityBlock& identity = crafted.ring().header().identity;
  identity.options_json = crafted.ring().add_name(R"({"output.merged_remote":"/there/"})");
  EXPECT_EQ(queue_node_file(crafted.ring(), "/elsewhere/node1.json"),
            "output.merged_remote: /elsewhere/node1.json: it is not in output.folder: it is not "
            "queued: upload it by hand");
}

}  // namespace
}  // namespace traceagent::drain
