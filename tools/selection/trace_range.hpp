#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/step_marks.hpp"
#include "tools/selection/step_window.hpp"

namespace traceagent::tools {

// From when to when trace files reach, in nanoseconds since the epoch after the corrections.
struct TraceRange {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  std::array<StepsOfRanks, step_marks> marked = {};  // by StepMark

  // Those that are marked in the surest of the ways in which any are.
  [[nodiscard]] const StepsOfRanks& steps() const {
    for (const StepsOfRanks& steps : marked) {
      if (!steps.empty()) return steps;
    }
    return marked.back();
  }
};

struct RangeQuestion {
  bool end = false;  // else end_ns is not looked for, which needs all events
  // Steps are looked for, in each file until all of its ranks have begun a ProfilerStep# that is
  // not below the last.
  std::optional<WantedSteps> steps = {};
  const EventRules* rules = nullptr;  // of whose ranks the steps are; null: of all
  const std::map<std::string, trace::ClockCorrection>* corrections = nullptr;
  std::function<void(std::uint64_t bytes)> on_read = {};  // told as they come
};

// Files that cannot be read are passed over: who merges them says so.
TraceRange range_of(const std::vector<std::string>& files, const RangeQuestion& question);

}  // namespace traceagent::tools
