#pragma once

#include <cstdint>
#include <string_view>

namespace traceagent::trace {

// What each event's line begins with.
inline constexpr std::string_view ts_prefix = "{\"ts\":";

struct TraceLine {
  enum class Kind { metadata, event, end };
  Kind kind = Kind::end;
  std::string_view text;      // without comma and newline; valid until the next call
  std::string_view after_ts;  // of an event: `text` from behind the number of "ts" on
  std::int64_t ts_ns = 0;     // of an event, relative to the base; exact
};

}  // namespace traceagent::trace
