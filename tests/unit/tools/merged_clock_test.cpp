#include "tools/clocks/merged_clock.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

TEST(MergedClock, IsReadAsItWasTold) {
  for (const MergedClock& clock :
       {MergedClock{.of = "rank 0", .bound_ns = 104'041}, MergedClock{.of = "node 0 of \"x\""},
        MergedClock{.bound_ns = 0, .is_unsure = true}, MergedClock{.has_several = true}}) {
    const auto read = merged_clock(clock.text());
    ASSERT_TRUE(read) << clock.text();
    EXPECT_EQ(read->text(), clock.text());
    EXPECT_EQ(read->bound_ns, clock.bound_ns);
    EXPECT_EQ(read->has_several, clock.has_several);
  }
  EXPECT_FALSE(merged_clock(""));
}

TEST(MergedClock, WhatIsNoBoundIsNotKnown) {
  EXPECT_FALSE(MergedClock({.has_several = true, .bound_ns = 5}).text().find('5') !=
               std::string::npos);
  for (const char* bound : {"-1", "null", "1e300", "\"5\"", "9000000000000000000"}) {
    EXPECT_FALSE(merged_clock(std::string(R"({"of":"rank 0","bound_ns":)") + bound + "}")->bound_ns)
        << bound;
  }
}

}  // namespace
}  // namespace traceagent::tools
