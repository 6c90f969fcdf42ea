#include "agent/trace/json_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace traceagent::trace {
namespace {

template <typename Put, typename Value>
std::string text_of(Put put, Value value) {
  char buffer[64];
  return {buffer, put(buffer, value)};
}

std::string escaped(std::string_view text) {
  std::string buffer(escaped_bound(text.size()), '#');
  const char* end = put_escaped(buffer.data(), text);
  return buffer.substr(0, static_cast<std::size_t>(end - buffer.data()));
}

TEST(JsonText, integers_at_every_power_of_ten) {
  std::uint64_t power = 1;
  for (int digit = 0; digit < 20; ++digit) {
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      EXPECT_EQ(text_of(put_unsigned, value), std::to_string(value));
    }
    power *= 10;
  }
  EXPECT_EQ(text_of(put_unsigned, UINT64_MAX), std::to_string(UINT64_MAX));
  EXPECT_EQ(text_of(put_integer, INT64_MIN), std::to_string(INT64_MIN));
  EXPECT_EQ(text_of(put_integer, INT64_MAX), std::to_string(INT64_MAX));
  EXPECT_EQ(text_of(put_integer, std::int64_t{-7}), "-7");
}

TEST(JsonText, microseconds_have_three_decimals) {
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{0}), "0.000");
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{1}), "0.001");
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{12345}), "12.345");
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{1000000}), "1000.000");
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{-1}), "-0.001");
  EXPECT_EQ(text_of(put_microseconds, std::int64_t{-12099}), "-12.099");
  EXPECT_EQ(text_of(put_microseconds, INT64_MAX), "9223372036854775.807");
  EXPECT_EQ(text_of(put_microseconds, INT64_MIN), "-9223372036854775.808");
}

TEST(JsonText, doubles_read_back_and_non_finite_become_null) {
  EXPECT_EQ(text_of(put_double, 0.1), "0.1");
  EXPECT_EQ(text_of(put_double, -2.5), "-2.5");
  EXPECT_EQ(text_of(put_double, std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(text_of(put_double, -std::numeric_limits<double>::infinity()), "null");
  // 18446744073709551616 would be read as a whole number that no 64 bits hold.
  EXPECT_EQ(text_of(put_double, 0x1p64), "1.8446744073709552e+19");
  EXPECT_EQ(text_of(put_double, -0x1p63), "-9.223372036854776e+18");
  EXPECT_EQ(text_of(put_double, 1e15), "1e+15");
  const std::string longest = text_of(put_double, -2.2250738585072014e-308);
  EXPECT_LE(longest.size(), max_double_chars);
  EXPECT_EQ(std::stod(longest), -2.2250738585072014e-308);
}

TEST(JsonText, hex_is_quoted) {
  EXPECT_EQ(text_of(put_hex, std::uint64_t{0}), "\"0x0\"");
  EXPECT_EQ(text_of(put_hex, UINT64_MAX), "\"0xffffffffffffffff\"");
}

TEST(JsonText, plain_text_of_every_length_is_kept) {
  const std::string text = "void kernel<float, 4>(float*, int) [clone .kd]";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(escaped(text.substr(0, size)), text.substr(0, size));
  }
}

TEST(JsonText, every_special_byte_at_every_place) {
  for (unsigned byte = 0; byte < 0x20; ++byte) {
    for (std::size_t place = 0; place < 17; ++place) {
      std::string text(17, 'a');
      text[place] = static_cast<char>(byte);
      const std::string result = escaped(text);
      EXPECT_EQ(result.find(static_cast<char>(byte)), std::string::npos) << byte;
      EXPECT_EQ(result[place], '\\');
      EXPECT_EQ(result.substr(0, place), std::string(place, 'a'));
      EXPECT_EQ(result.substr(result.size() - (16 - place)), std::string(16 - place, 'a'));
    }
  }
  EXPECT_EQ(escaped("a\"b\\c\nd\te\rf\x01g\x1f"), R"(a\"b\\c\nd\te\rf\u0001g\u001f)");
}

TEST(JsonText, valid_utf8_is_kept) {
  for (const std::string text :
       {"é", "核", "🚀", "naïve 核函数 🚀 tail", "\xF4\x8F\xBF\xBF", "\x7F"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(JsonText, invalid_utf8_becomes_replacement_characters) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("\xFF"), bad);
  EXPECT_EQ(escaped("a\x80z"), "a" + bad + "z");
  EXPECT_EQ(escaped("\xC3"), bad);                                // cut short
  EXPECT_EQ(escaped("\xE6\xA0"), bad + bad);                      // cut short
  EXPECT_EQ(escaped("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(escaped("\xE0\x80\x80"), bad + bad + bad);            // overlong
  EXPECT_EQ(escaped("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(escaped("\xC3\"x"), bad + "\\\"x");
}

}  // namespace
}  // namespace traceagent::trace
