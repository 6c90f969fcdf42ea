#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "agent/trace/clock_correction.hpp"

namespace traceagent::tools {

// From when to when trace files reach, in nanoseconds since the epoch after the corrections.
struct TraceRange {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  std::map<std::int64_t, std::int64_t> steps = {};  // when ProfilerStep#k begins first, by k
};

struct RangeQuestion {
  bool end = false;  // else end_ns is not looked for, which needs all events
  // Steps are looked for up to the first that is not below this.
  std::int64_t steps_below = std::numeric_limits<std::int64_t>::min();
  const std::map<std::string, trace::ClockCorrection>* corrections = nullptr;
  std::function<void(std::uint64_t bytes)> on_read = {};  // told as they come
};

// Files that cannot be read are passed over: who merges them says so.
TraceRange range_of(const std::vector<std::string>& files, const RangeQuestion& question);

}  // namespace traceagent::tools
