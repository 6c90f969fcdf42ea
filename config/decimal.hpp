#pragma once

#include <optional>
#include <string_view>

namespace traceagent::config {

// Reads digits with at most one point between or beside them: 1, 1.5, .25. By hand, because
// std::from_chars for doubles pulls libm's rounding functions into the agent, which may need
// nothing but libc. Exact to 15 digits, enough for sizes and durations.
inline std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  double scale = 1;
  bool after_point = false, any_digit = false;
  for (const char c : text) {
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      any_digit = true;
      value = value * 10 + (c - '0');
      if (after_point) scale *= 10;
    } else {
      return std::nullopt;
    }
  }
  if (!any_digit) return std::nullopt;
  return value / scale;
}

}  // namespace traceagent::config
