#include "agent/trace/line_judge.hpp"

#include <cstdint>

#include "agent/trace/json_syntax.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view metadata_prefix = "{\"ph\":\"M\"";
constexpr std::uint64_t max_whole_microseconds = INT64_MAX / 1000 - 1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// `-?digits.ddd` to nanoseconds; null when it is something else, else the place behind it. Needs a
// byte that is no digit behind the number, which every line has (its last '}').
const char* parse_microseconds(const char* at, std::int64_t& ns) {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t value = 0;
  while (is_digit(*at)) {
    value = value * 10 + static_cast<std::uint64_t>(*at++ - '0');
  }
  const auto digits = at - first;
  if (digits == 0 || digits > 16 || value > max_whole_microseconds || *at != '.' ||
      !is_digit(at[1]) || !is_digit(at[2]) || !is_digit(at[3]) || is_digit(at[4])) {
    return nullptr;
  }
  const auto fraction =
      static_cast<std::uint64_t>((at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0'));
  const auto magnitude = static_cast<std::int64_t>(value * 1000 + fraction);
  ns = negative ? -magnitude : magnitude;
  return at + 4;
}

}  // namespace

const char* LineJudge::damage_of(std::string_view line, TraceLine& result) {
  result.text = without_comma(line);
  if (line.starts_with(ts_prefix) && result.text.ends_with('}')) [[likely]] {
    const char* after = parse_microseconds(line.data() + ts_prefix.size(), result.ts_ns);
    if (after == nullptr) {
      return bad_ts;
    }
    if (!trusts_ && !shapes_.is_whole_object(result.text)) {
      return not_json;
    }
    result.kind = TraceLine::Kind::event;
    result.after_ts = result.text.substr(static_cast<std::size_t>(after - line.data()));
    return nullptr;
  }
  const bool is_metadata = line.starts_with(metadata_prefix) && is_whole_value(result.text);
  result.kind = TraceLine::Kind::metadata;
  return is_metadata ? nullptr : not_json;
}

}  // namespace traceagent::trace
