#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::tools {

// A moment as a user names it:
//   1700000000000000      microseconds since the epoch, with decimals if need be
//   +2s, +500ms           after the trace's beginning
//   -3s                   before its end
//   begin, end            these themselves
//   14:03, 14:03:05.2     the first such local time of day within the trace, else the one that is
//                         nearest to its beginning; of an end from its own beginning on, or to that
//   2026-11-21T14:03:05.2 local time; with Z or +02:00 behind it that zone's
struct TimeWord {
  enum class Kind { absolute, after_begin, before_end, time_of_day };
  Kind kind = Kind::absolute;
  std::int64_t ns = 0;  // since the epoch, from begin, to end, since midnight
};

// Nothing when it is none of these.
std::optional<TimeWord> parse_time(std::string_view word);

// Nanoseconds since the epoch. `from_ns`: of an end, what it is the end of.
std::int64_t resolve(const TimeWord& word, std::int64_t begin_ns, std::int64_t end_ns,
                     std::optional<std::int64_t> from_ns = std::nullopt);

// "2026-11-21 14:03:05.200000000", local time.
std::string time_in_words(std::int64_t ns);

}  // namespace traceagent::tools
