#include "config/plain_text.hpp"

#include <gtest/gtest.h>

namespace traceagent::config {
namespace {

TEST(PlainText, Trims) {
  EXPECT_EQ(trimmed(" \t a b \t"), "a b");
  EXPECT_EQ(trimmed("   "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(PlainText, QuotesOnOneLine) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("a\nb\tc\x7f"), "\"a\\x0ab\\x09c\\x7f\"");
  EXPECT_EQ(in_quotes("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(in_quotes("\xff\xc3"), "\"\\xff\\xc3\"");
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), "\"\\x00\"");
  EXPECT_EQ(in_quotes(std::string(5000, 'x')), '"' + std::string(100, 'x') + "...\"");
  EXPECT_EQ(printable(std::string(300, 'x')), std::string(300, 'x'));
}

TEST(PlainText, KnowsWholeTextsInUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a gr\xc3\xbc\xc3\x9f"));
  EXPECT_FALSE(is_utf8("caf\xe9"));
  EXPECT_FALSE(is_utf8("\xff.json"));
}

TEST(PlainText, KnowsUtf8) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xc3\xbc"), 2U);
  EXPECT_EQ(utf8_length("\xe2\x82\xac..."), 3U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("\xc3"), 0U);              // cut
  EXPECT_EQ(utf8_length("\x80"), 0U);              // a continuation alone
  EXPECT_EQ(utf8_length("\xc0\xaf"), 0U);          // a '/' in two bytes
  EXPECT_EQ(utf8_length("\xe0\x80\xaf"), 0U);      // and in three
  EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0U);      // a surrogate
  EXPECT_EQ(utf8_length("\xf4\x90\x80\x80"), 0U);  // past U+10FFFF
  EXPECT_EQ(utf8_length("\xf5\x80\x80\x80"), 0U);
}

TEST(PlainText, WritesJsonStrings) {
  EXPECT_EQ(json_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace traceagent::config
