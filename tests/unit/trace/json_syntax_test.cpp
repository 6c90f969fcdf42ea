#include "agent/trace/json_syntax.hpp"

#include <gtest/gtest.h>

#include <string>

#include "agent/trace/json_text.hpp"

namespace traceagent::trace {
namespace {

TEST(JsonSyntax, takes_every_kind_of_value) {
  for (const char* text :
       {"{}",
        "[]",
        "null",
        "true",
        "false",
        "\"\"",
        "0",
        "-0",
        "-1.5",
        "10.25e-3",
        "1E+10",
        "1e-999",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "[[],{},[{}]]",
        R"({"a": [1, {"b": "}"}], "c":null ,"d" : true})",
        "[1,2,\t3 ]",
        "{ }",
        R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \x7f\"",
        R"({"ts":1.000,"dur":0.001,"ph":"X","name":"f<int> x","pid":0,"args":{"k":-1}})"}) {
    EXPECT_TRUE(is_whole_value(text)) << text;
  }
}

TEST(JsonSyntax, refuses_what_is_not_json) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "{}}",
                           "{} ",
                           " {}",
                           "[1}",
                           "{\"a\":1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\" 1}",
                           "{,}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a}",
                           "\"",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\",
                           "nul",
                           "nulL",
                           "True",
                           "nullx",
                           "+1",
                           "-",
                           "01",
                           "-01",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "1.e5",
                           "0x1",
                           "1,2",
                           "NaN",
                           "Infinity",
                           "[1",
                           "\"a\nb\"",
                           "\"a\tbcdefghij\"",
                           "//",
                           "[1]x"}) {
    EXPECT_FALSE(is_whole_value(text)) << text;
  }
}

// Viewers and Python read them, as what is next to them or infinite; but not with any number of
// digits.
TEST(JsonSyntax, takes_numbers_of_any_size) {
  for (const char* text :
       {"18446744073709551616", "-9223372036854775809", "12345678901234567890123", "1e309",
        "-1e999", "1E+99999999999", "1234567890123456789012.5"}) {
    EXPECT_TRUE(is_whole_value(text)) << text;
    const std::string object = "{\"a\":" + std::string(text) + "}";
    JsonMembers members;
    EXPECT_EQ(whole_object_at(object, members), object.size());
    EXPECT_EQ(members[0].value, text);
  }
  EXPECT_TRUE(is_whole_value(std::string(most_digits, '1')));
  EXPECT_FALSE(is_whole_value(std::string(most_digits + 1, '1')));
}

TEST(JsonSyntax, refuses_what_is_not_unicode) {
  for (const char* text :
       {"\"\x80\"", "\"\xC3\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"",
        "\"0123456\xFF, and more\"", R"("\ud800")", R"("\ude00")", R"("\ud83dx")",
        R"("\ud83d\u0041")", R"("\u12")", R"("\u12g4")"}) {
    EXPECT_FALSE(is_whole_value(text)) << text;
  }
}

TEST(JsonSyntax, knows_an_object) {
  EXPECT_TRUE(is_whole_object("{\"a\":1}"));
  EXPECT_FALSE(is_whole_object("[1]"));
  EXPECT_FALSE(is_whole_object("1"));
  EXPECT_FALSE(is_whole_object(""));
}

TEST(JsonSyntax, goes_only_so_deep) {
  const auto nested = [](int depth) {
    const auto size = static_cast<std::size_t>(depth);
    return std::string(size, '[') + std::string(size, ']');
  };
  EXPECT_TRUE(is_whole_value(nested(deepest_json)));
  EXPECT_FALSE(is_whole_value(nested(deepest_json + 1)));
  std::string objects;
  for (int i = 0; i < deepest_json; ++i) objects += "{\"a\":";
  EXPECT_FALSE(is_whole_value(objects + "[]" + std::string(deepest_json, '}')));
  EXPECT_TRUE(is_whole_value(objects + "1" + std::string(deepest_json, '}')));
}

// At every level it is known what is open there.
TEST(JsonSyntax, knows_what_closes_at_any_depth) {
  const auto nested = [](int depth, int wrong_level) {
    std::string text, end;
    for (int level = 0; level < depth; ++level) {
      const bool is_object = level % 3 == 0 || level % 7 == 0;
      text += is_object ? "{\"a\":" : "[1,";
      end += is_object == (level != wrong_level) ? '}' : ']';
    }
    return text + "2" + std::string(end.rbegin(), end.rend());
  };
  for (int depth = 1; depth <= deepest_json; ++depth) {
    ASSERT_TRUE(is_whole_value(nested(depth, -1))) << depth;
  }
  for (int level = 0; level < deepest_json; ++level) {
    ASSERT_FALSE(is_whole_value(nested(deepest_json, level))) << level;
  }
  EXPECT_FALSE(is_whole_value(nested(deepest_metadata, -1)));
  EXPECT_TRUE(is_whole_value(nested(deepest_metadata, -1), deepest_metadata));
  EXPECT_FALSE(is_whole_value(nested(deepest_metadata + 1, -1), deepest_metadata));
}

// No part of a value is a whole one, and none is read beyond its end.
TEST(JsonSyntax, refuses_every_part_of_a_value) {
  const std::string whole =
      R"({"a": [1, {"b": "c\\\u00e9\"]}"}], "d": {"e": 1.5e3, "long": "0123456789abcdef"}, "f": null})";
  ASSERT_TRUE(is_whole_value(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part(whole, 0, size);
    EXPECT_FALSE(is_whole_value(part)) << part;
  }
}

TEST(JsonSyntax, takes_all_that_is_escaped) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char bytes[] = {'a', static_cast<char>(first), static_cast<char>(second), 'b'};
      char text[64];
      const char* const end = put_string(text, {bytes, sizeof bytes});
      ASSERT_TRUE(is_whole_value({text, static_cast<std::size_t>(end - text)}))
          << first << ' ' << second;
    }
  }
}

TEST(JsonSyntax, takes_an_object_apart_whatever_follows) {
  const std::string object = R"({"a" : [1, {"b": "}"}],"c\"d":-1.5e3 , "e":{}, "f":"x\\"})";
  for (const char* behind : {"", ",{", "}", "]", " \"", "\\"}) {
    JsonMembers members;
    members.add({"left", "over"});
    ASSERT_EQ(whole_object_at(object + behind, members), object.size()) << behind;
  }
  JsonMembers members;
  ASSERT_EQ(whole_object_at(object, members), object.size());
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const JsonMember& member : members) found.emplace_back(member.key, member.value);
  EXPECT_EQ(
      found,
      (decltype(found){
          {"a", R"([1, {"b": "}"}])"}, {R"(c\"d)", "-1.5e3"}, {"e", "{}"}, {"f", R"("x\\")"}}));
  for (std::size_t size = 0; size < object.size(); ++size) {
    EXPECT_EQ(whole_object_at(std::string_view(object).substr(0, size), members), 0U) << size;
  }
}

// It judges as is_whole_value() does: each byte of an object is changed to each other.
TEST(JsonSyntax, judges_an_object_the_same_in_both_ways) {
  const std::string object = R"({"a": [10, {"b": "c\u00e9"}], "d":null })";
  JsonMembers members;
  for (std::size_t at = 1; at < object.size() - 1; ++at) {
    for (int byte = 1; byte < 256; ++byte) {
      std::string text = object;
      text[at] = static_cast<char>(byte);
      const std::size_t size = whole_object_at(text, members);
      ASSERT_EQ(size == text.size(), is_whole_value(text)) << text;
      ASSERT_TRUE(size == 0 || is_whole_value(text.substr(0, size))) << text;
    }
  }
}

}  // namespace
}  // namespace traceagent::trace
