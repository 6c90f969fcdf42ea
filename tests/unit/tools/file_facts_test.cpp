#include "tools/import/file_facts.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

TEST(FileFacts, NumbersThatWereComputedAreTheSame) {
  FileFacts facts;
  facts.add_member("distributedInfo", R"({"rank": 2.0, "world_size": 4})");
  facts.add_member("baseTimeNanoseconds", "1.7e+18");
  EXPECT_EQ(facts.rank(), 2);
  EXPECT_EQ(facts.base_ns(), 1'700'000'000'000'000'000);
}

TEST(FileFacts, NoRankIsMadeOfWhatIsNone) {
  for (const char* rank : {"1.5", "-1", "null", "\"\"", "1e30", "[1]"}) {
    FileFacts facts;
    facts.add_member("distributedInfo", std::string("{\"rank\": ") + rank + "}");
    EXPECT_FALSE(facts.rank()) << rank;
  }
}

TEST(FileFacts, PyTorchNamesItsHost) {
  FileFacts facts;
  EXPECT_EQ(facts.host(), "");
  facts.add_member("host_name", "\"gpu\\u002d7\"");
  EXPECT_EQ(facts.host(), "gpu-7");
}

}  // namespace
}  // namespace traceagent::tools
