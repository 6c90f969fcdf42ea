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

namespace traceagent::tools {

// The first and the last of --steps, in whatever way they are marked.
struct WantedSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;  // the first that is no longer meant
};

// Of all steps of a trace those that decide on a window's edges: a file may have as many as events.
struct StepEdges {
  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;  // where it begins first
  };
  std::optional<std::int64_t> before;  // the number of the last one below the first
  std::optional<Step> from;            // the lowest that is not below the first
  std::optional<Step> behind;          // the lowest that is not below the last

  [[nodiscard]] bool are_any() const { return before || from; }
  void add(const Step& step, const WantedSteps& wanted);
};

// From when to when trace files reach, in nanoseconds since the epoch after the corrections.
struct TraceRange {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  std::array<StepEdges, step_marks> marked = {};  // by StepMark

  // Those that are marked in the surest of the ways in which any are.
  [[nodiscard]] const StepEdges& steps() const {
    for (const StepEdges& steps : marked) {
      if (steps.are_any()) return steps;
    }
    return marked.back();
  }
};

struct RangeQuestion {
  bool end = false;  // else end_ns is not looked for, which needs all events
  // Steps are looked for, in each file up to the first ProfilerStep# that is not below the last.
  std::optional<WantedSteps> steps = {};
  const EventRules* rules = nullptr;  // of whose ranks the steps are; null: of all
  const std::map<std::string, trace::ClockCorrection>* corrections = nullptr;
  std::function<void(std::uint64_t bytes)> on_read = {};  // told as they come
};

// Files that cannot be read are passed over: who merges them says so.
TraceRange range_of(const std::vector<std::string>& files, const RangeQuestion& question);

}  // namespace traceagent::tools
