#include "tools/import/exact_time.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

std::int64_t ns_of(std::string_view json) {
  const auto time = parse_microseconds(json);
  EXPECT_TRUE(time) << json;
  return time ? time->rounded_ns() : -1;
}

TEST(ExactTime, ReadsWhatADoubleCannotHold) {
  EXPECT_EQ(ns_of("1700000000000000.001"), 1700000000000000001);
  EXPECT_EQ(ns_of("1623212388426602.0017"), 1623212388426602002);
  EXPECT_EQ(ns_of("4458676388068.751"), 4458676388068751);
  EXPECT_EQ(ns_of("1.623212388426601e15"), 1623212388426601000);
  EXPECT_EQ(ns_of("1.6E+3"), 1600000);
}

TEST(ExactTime, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(ns_of("0.0005"), 1);
  EXPECT_EQ(ns_of("0.0004999999999999999999999999999999999"), 0);
  EXPECT_EQ(ns_of("-0.0005"), 0);  // half goes up everywhere
  EXPECT_EQ(ns_of("-0.0006"), -1);
  EXPECT_EQ(ns_of("-1.25"), -1250);
}

TEST(ExactTime, TakesTextsThatHoldNumbers) {
  EXPECT_EQ(ns_of("\"12.5\""), 12500);
  EXPECT_EQ(ns_of("000000000000000000000000000000000000001"), 1000);
}

TEST(ExactTime, RefusesWhatIsNoTime) {
  for (const char* text : {"", "\"\"", "null", "\"noon\"", "NaN", "1e30", "4000000000000001",
                           "1.2.3", "1e", "--1", "[1]", "0x10"}) {
    EXPECT_FALSE(parse_microseconds(text)) << text;
  }
}

TEST(ExactTime, TakesNanosecondsThatWereComputedAsFloats) {
  for (const char* text : {"1700000000000000000", "\"1700000000000000000\"", "1.7e18", "1.7e+18",
                           "1.700000000e18", "17e17", "1700000000000000000.0"}) {
    EXPECT_EQ(parse_nanoseconds(text), 1'700'000'000'000'000'000) << text;
  }
  EXPECT_EQ(parse_nanoseconds("1.5"), 2);
  EXPECT_EQ(parse_nanoseconds("-7"), -7);
  for (const char* text : {"", "null", "\"noon\"", "1e30", "1e"}) {
    EXPECT_FALSE(parse_nanoseconds(text)) << text;
  }
}

// Slices that were nested stay nested: each edge is rounded, never a duration.
TEST(ExactTime, KeepsNesting) {
  const auto parent = *parse_microseconds("10.0004");
  const auto parent_end = (parent + *parse_microseconds("5.0003")).rounded_ns();
  const auto child = *parse_microseconds("12.0006");
  const auto child_end = (child + *parse_microseconds("3.0001")).rounded_ns();
  EXPECT_EQ(parent_end, 15001);
  EXPECT_EQ(child_end, 15001);
}

}  // namespace
}  // namespace traceagent::tools
