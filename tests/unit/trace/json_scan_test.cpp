#include "agent/trace/json_scan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace traceagent::trace {
namespace {

TEST(JsonScan, finds_members_of_every_kind) {
  const std::string_view text =
      R"({"a": 1, "b": "x\"}\\", "c": {"a": 2, "d": [1, {"e": 3}]}, "f": [], "g":-7 , "h": true})";
  EXPECT_EQ(integer_member(text, "a"), 1);
  EXPECT_EQ(string_member(text, "b"), R"(x\"}\\)");
  EXPECT_EQ(member(text, "c"), R"({"a": 2, "d": [1, {"e": 3}]})");
  EXPECT_EQ(integer_member(*member(text, "c"), "a"), 2);
  EXPECT_EQ(member(text, "f"), "[]");
  EXPECT_EQ(integer_member(text, "g"), -7);
  EXPECT_EQ(member(text, "h"), "true");
  EXPECT_EQ(member(text, "d"), std::nullopt);
  EXPECT_EQ(integer_member(text, "b"), std::nullopt);
  EXPECT_EQ(string_member(text, "a"), std::nullopt);
}

TEST(JsonScan, visits_elements_in_order) {
  std::vector<std::string> seen;
  for_each_element(R"([1,"two, [", {"three": [3]}, [4], null])",
                   [&](std::string_view element) { seen.emplace_back(element); });
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "\"two, [\"", "{\"three\": [3]}", "[4]", "null"}));
  seen.clear();
  for_each_element("[]", [&](std::string_view element) { seen.emplace_back(element); });
  for_each_element("", [&](std::string_view element) { seen.emplace_back(element); });
  EXPECT_TRUE(seen.empty());
}

TEST(JsonScan, broken_text_at_every_length_is_survived) {
  const std::string whole = R"({"a": [1, {"b": "c\\"}], "d": {"e": 1.5}, "f": 2})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(integer_member(std::string_view(whole).substr(0, size), "nothing"), std::nullopt);
  }
  for (const char* text :
       {"}", "{\"a\"", "{\"a\":", "{a: 1}", "{\"a\": }", "[[[[", "\"", "{\"a\\"}) {
    EXPECT_EQ(member(text, "a"), std::nullopt) << text;
  }
}

TEST(JsonScan, unescapes_all_that_json_escapes) {
  EXPECT_EQ(unescaped(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescaped(R"(a\u0041\u00e9\u20AC\ud83d\ude00z)"), "aAé€😀z");
  EXPECT_EQ(unescaped(R"(\ud83dx\ude00\ud83d\u0041)"), "\uFFFDx\uFFFD\uFFFDA");
  EXPECT_EQ(unescaped(R"(\u12)"), "u12") << "no JSON, and not read beyond its end";
  EXPECT_EQ(unescaped("\\"), "\\");
}

}  // namespace
}  // namespace traceagent::trace
