#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::config {

// Python's format specification: [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill;        // one UTF-8 character; the parser leaves it never empty
  char align = '\0';       // '<' '>' '^' '=', or 0: the type's own
  char sign = '-';         // '-' '+' ' '
  bool alternate = false;  // '#': 0x, 0o, 0b
  bool zero = false;       // '0' before the width
  int width = 0;
  char grouping = '\0';  // ',' or '_'
  int precision = -1;    // -1: none given
  char type = '\0';      // 0: the type's own
};

struct ParsedFormatSpec {
  FormatSpec spec;
  std::string problem;  // empty: spec is valid
};

ParsedFormatSpec parse_format_spec(std::string_view text);

struct FormattedValue {
  std::string text;
  std::string problem;  // the specification does not fit the type
};

// As Python's format(value, spec).
FormattedValue format_integer(std::int64_t value, const FormatSpec& spec);
FormattedValue format_real(double value, const FormatSpec& spec);
FormattedValue format_text(std::string_view value, const FormatSpec& spec);

}  // namespace traceagent::config
