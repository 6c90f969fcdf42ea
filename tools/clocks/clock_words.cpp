#include "tools/clocks/clock_words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace traceagent::tools {

std::string number_in_words(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string duration_in_words(double ns) {
  constexpr struct {
    double ns;
    const char* unit;
  } units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};
  char text[48];
  for (const auto& unit : units) {
    if (ns >= unit.ns) {
      std::snprintf(text, sizeof text, "%.6g%s", ns / unit.ns, unit.unit);
      return text;
    }
  }
  std::snprintf(text, sizeof text, "%.0f ns", ns);
  return text;
}

std::string step_in_words(const ClockStep& step, const trace::ClockKnot& first) {
  const auto after_ns = static_cast<double>(step.span.from_ns - first.at_ns);
  return ", set by " + std::string(step.by_ns < 0 ? "-" : "+") +
         duration_in_words(std::abs(step.by_ns)) + " within " +
         duration_in_words(static_cast<double>(step.span.until_ns - step.span.from_ns)) + " " +
         duration_in_words(std::max(after_ns, 0.0)) + " after its beginning (right within " +
         duration_in_words(step.bound_ns) + " there)";
}

namespace {

std::string part_in_words(double whole_ns, const std::string& where, const std::string& by) {
  return ", unsure for " + duration_in_words(whole_ns) + " " + where +
         ", where a clock may have been set by " + by + " unseen";
}

}  // namespace

std::string unsure_in_words(const std::vector<ClockUnsure>& unsure) {
  double bounded_ns = 0;
  double most_ns = 0;
  double unbounded_ns = 0;
  for (const ClockUnsure& each : unsure) {
    // Of a single event, too.
    const auto length_ns =
        static_cast<double>(std::max<std::int64_t>(each.span.until_ns - each.span.from_ns, 1));
    if (std::isfinite(each.by_ns)) {
      bounded_ns += length_ns;
      most_ns = std::max(most_ns, each.by_ns);
    } else {
      unbounded_ns += length_ns;
    }
  }
  std::string text;
  if (bounded_ns > 0) {
    text += part_in_words(bounded_ns, "around pauses of the collectives",
                          "up to " + duration_in_words(most_ns));
  }
  if (unbounded_ns > 0) {
    text += part_in_words(unbounded_ns, "before or behind all collectives or around pauses of them",
                          "any amount");
  }
  return text;
}

}  // namespace traceagent::tools
