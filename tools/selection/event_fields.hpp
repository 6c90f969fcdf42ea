#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace traceagent::tools {

// What is looked at of an event's line. Texts are views into the line, escapes as they stand; empty
// where the event has none.
struct EventFields {
  char phase = '\0';  // "ph"
  bool has_dur = false;
  std::int64_t dur_ns = 0;
  std::string_view dur_text;
  std::string_view category;
  std::string_view name;
  std::string_view id;     // the value of "id" or "id2", quotes and all
  std::string_view scope;  // the value of "scope"
  std::int64_t pid = 0;
  std::int64_t tid = 0;
};

// Reads the members of a line that is whole JSON, from `after_ts` on (TraceLine::after_ts), without
// building anything; stops where an event of this phase needs no more: in our own lines before
// "args".
EventFields fields_of(std::string_view after_ts);

// A decimal number of microseconds, as nanoseconds; of more digits the nearest.
// At most, and at least, this much: of a duration that was never set (2^64 - 1) too.
inline constexpr std::int64_t endless_ns =
    (std::numeric_limits<std::int64_t>::max() / 1000 - 1) * 1000;
std::int64_t nanoseconds_of(std::string_view microseconds);

}  // namespace traceagent::tools
