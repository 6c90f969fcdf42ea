#include "config/format_spec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace traceagent::config {
namespace {

// What format() gives, or "!" where the specification is refused.
std::string formatted(char kind, const std::string& value, const std::string& specification) {
  const ParsedFormatSpec parsed = parse_format_spec(specification);
  if (!parsed.problem.empty()) return "!";
  FormattedValue result;
  switch (kind) {
    case 'i':
      result = format_integer(std::strtoll(value.c_str(), nullptr, 10), parsed.spec);
      break;
    case 'r':
      result = format_real(std::strtod(value.c_str(), nullptr), parsed.spec);
      break;
    default:
      result = format_text(value, parsed.spec);
  }
  return result.problem.empty() ? result.text : "!";
}

std::vector<std::string> split_at_tabs(const std::string& line) {
  std::vector<std::string> parts = {""};
  for (const char c : line) {
    if (c == '\t') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

TEST(FormatSpec, AgreesWithPython) {
  std::ifstream table(TRACEAGENT_SOURCE_DIR "/tests/unit/config/python_formats.txt");
  std::string line;
  int checked = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string> parts = split_at_tabs(line);
    ASSERT_EQ(parts.size(), 4U) << line;
    EXPECT_EQ(formatted(parts[0][0], parts[1], parts[2]), parts[3])
        << "format(" << parts[1] << ", '" << parts[2] << "')";
    ++checked;
  }
  EXPECT_EQ(checked, 2600);
}

TEST(FormatSpec, WritesWhatIsNoNumberAsPythonDoes) {
  EXPECT_EQ(formatted('r', "nan", ".24"), "nan");
  EXPECT_EQ(formatted('r', "-inf", ".3"), "-inf");
  EXPECT_EQ(formatted('r', "inf", "010.3"), "0000000inf");
  EXPECT_EQ(formatted('r', "nan", "F"), "NAN");
}

TEST(FormatSpec, RefusesWhatWouldCostMemory) {
  EXPECT_EQ(parse_format_spec("255d").problem, "");
  EXPECT_EQ(parse_format_spec("256d").problem, "the width in \"256d\" is over 255");
  EXPECT_EQ(parse_format_spec("99999999999999999999d").problem,
            "the width in \"99999999999999999999d\" is over 255");
  EXPECT_EQ(parse_format_spec(".101f").problem, "the precision in \".101f\" is over 100");
  EXPECT_EQ(format_real(1e300, parse_format_spec(".100f").spec).text.size(), 402U);
}

TEST(FormatSpec, SaysWhatIsWrong) {
  EXPECT_EQ(parse_format_spec("06q").problem, "unknown format \"06q\"");
  EXPECT_EQ(parse_format_spec(".f").problem, "the precision in \".f\" is missing");
  EXPECT_EQ(format_integer(1, parse_format_spec("s").spec).problem,
            "format s is for text, and this is a number");
  EXPECT_EQ(format_integer(1, parse_format_spec(".2d").spec).problem,
            "a whole number takes no precision");
  EXPECT_EQ(format_real(1, parse_format_spec("d").spec).problem,
            "format d is not for a number of seconds");
  EXPECT_EQ(format_text("a", parse_format_spec("d").spec).problem,
            "format d is for numbers, and this is text");
  EXPECT_EQ(format_text("a", parse_format_spec("+").spec).problem,
            "this format is for numbers, and this is text");
}

}  // namespace
}  // namespace traceagent::config
