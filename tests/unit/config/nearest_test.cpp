#include "config/nearest.hpp"

#include <gtest/gtest.h>

namespace traceagent::config {
namespace {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("output", "output"), 0U);
  EXPECT_EQ(edit_distance("ouput", "output"), 1U);
  EXPECT_EQ(edit_distance("outputs", "output"), 1U);
  EXPECT_EQ(edit_distance("autput", "output"), 1U);
  EXPECT_EQ(edit_distance("uotput", "output"), 1U);  // a swap is one edit
  EXPECT_EQ(edit_distance("OUTPUT", "output"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, TakesTheFirstOfTheNearest) {
  EXPECT_EQ(nearest("wiat", {"skip", "wait", "want"}), "wait");
  EXPECT_EQ(nearest("ab", {"ac", "ad"}), "ac");
}

TEST(Nearest, TakesNothingThatIsFar) {
  EXPECT_EQ(nearest("banana", {"skip", "wait"}), "");
  EXPECT_EQ(nearest("x", {"skip"}), "");
  EXPECT_EQ(nearest("", {"skip"}), "");
  EXPECT_EQ(nearest("wait", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'w'), {"wait"}), "");
  EXPECT_EQ(nearest_in_words("banana", {"skip"}), "there is none like it");
  EXPECT_EQ(nearest_in_words("skp", {"skip"}), "the nearest is skip");
}

}  // namespace
}  // namespace traceagent::config
