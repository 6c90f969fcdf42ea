#include "agent/process/said_topics.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

TEST(SaidTopics, EachIsNewOnce) {
  SaidTopics said;
  EXPECT_TRUE(said.add("index"));
  EXPECT_TRUE(said.add("output"));
  EXPECT_FALSE(said.add("index"));
  EXPECT_FALSE(said.add("output"));
}

}  // namespace
}  // namespace traceagent::process
