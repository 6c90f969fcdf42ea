#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace traceagent::tools {

// A time in microseconds as other people write it, exact to the picosecond: a double has a quarter
// of a microsecond left at today's microseconds since 1970.
struct ExactTime {
  std::int64_t ns = 0;
  std::int32_t ps = 0;  // 0..999, added to ns also where that is negative

  // To the nearest nanosecond. Never turns the order of two times round.
  [[nodiscard]] std::int64_t rounded_ns() const { return ns + (ps >= 500 ? 1 : 0); }
};

// Rounding begin and end, not the duration, keeps slices nested that were nested.
ExactTime operator+(const ExactTime& a, const ExactTime& b);

// Of a JSON number, or of a JSON string that holds one (which viewers take too). Nothing where it
// is neither, or lies more than a hundred years from zero.
std::optional<ExactTime> parse_microseconds(std::string_view json);
// The same of nanoseconds, to the nearest: programs that compute them as floats write 1.7e+18.
std::optional<std::int64_t> parse_nanoseconds(std::string_view json);

}  // namespace traceagent::tools
