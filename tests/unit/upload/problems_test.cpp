#include "tools/upload/problems.hpp"

#include <gtest/gtest.h>

#include <string>

namespace traceagent::tools {
namespace {

TEST(Problems, TheLastOfEachPlaceTheNewestFirst) {
  Problems problems;
  EXPECT_EQ(problems.text(": 2 files wait"), "");
  problems.note("s3://a", "a.json: HTTP 503");
  problems.note("s3://b", "b.json: HTTP 403");
  problems.note("s3://a", "c.json: HTTP 500");
  EXPECT_EQ(problems.text(": 2 files wait"), "c.json: HTTP 500: 2 files wait\nb.json: HTTP 403\n");
  problems.forget("s3://a");
  EXPECT_FALSE(problems.has("s3://a"));
  EXPECT_EQ(problems.text(": 1 files wait"), "b.json: HTTP 403: 1 files wait\n");
}

TEST(Problems, OfManyPlacesTheNewestAlone) {
  Problems problems;
  for (int i = 0; i < 100; ++i) {
    problems.note("folder" + std::to_string(i), "problem " + std::to_string(i));
  }
  EXPECT_EQ(problems.size(), 8u);
  EXPECT_TRUE(problems.has("folder99"));
  EXPECT_FALSE(problems.has("folder91"));
}

}  // namespace
}  // namespace traceagent::tools
