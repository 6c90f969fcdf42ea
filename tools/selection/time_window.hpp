#pragma once

#include <cstdint>
#include <limits>

namespace traceagent::tools {

// Absolute times, both within it. What begins before its end and ends after its begin overlaps it,
// and so does what only touches it: MergedTimeline's rule.
struct TimeWindow {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool is_everything() const {
    return begin_ns == std::numeric_limits<std::int64_t>::min() &&
           end_ns == std::numeric_limits<std::int64_t>::max();
  }
  [[nodiscard]] bool overlaps(std::int64_t from_ns, std::int64_t to_ns) const {
    return to_ns >= begin_ns && from_ns <= end_ns;
  }
  [[nodiscard]] std::int64_t clamped(std::int64_t ns) const {
    return ns < begin_ns ? begin_ns : (ns > end_ns ? end_ns : ns);
  }
};

// Of a slice, in time: the last there is, where that is beyond. Less than no duration is none.
constexpr std::int64_t end_of(std::int64_t begin_ns, std::int64_t dur_ns) {
  constexpr std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
  if (dur_ns <= 0) return begin_ns;
  return begin_ns > last_ns - dur_ns ? last_ns : begin_ns + dur_ns;
}

// The window that holds nothing.
inline constexpr TimeWindow no_time{std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()};

}  // namespace traceagent::tools
