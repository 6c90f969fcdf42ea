#include "tools/clocks/clock_runs.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace traceagent::tools {

std::vector<ClockRun> clock_runs(const std::vector<ClockSegment>& segments, double from_ns,
                                 double until_ns) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<ClockRun> runs;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i == 0 || segments[i].begins_run) {
      if (!runs.empty()) {
        runs.back().next_from_ns = segments[i].from_ns;
      }
      runs.push_back({.first = i, .from_ns = segments[i].from_ns, .next_from_ns = never});
    }
    runs.back().end = i + 1;
    runs.back().until_ns = segments[i].until_ns;
  }
  if (!runs.empty()) {
    runs.front().from_ns = std::min(runs.front().from_ns, from_ns);
    runs.back().until_ns = std::max(runs.back().until_ns, until_ns);
  }
  return runs;
}

std::vector<ClockKnots::Knot> knots_of(const ClockRun& run,
                                       const std::vector<ClockKnots::Knot>& all) {
  std::vector<ClockKnots::Knot> knots;
  std::copy_if(all.begin(), all.end(), std::back_inserter(knots), [&](const auto& knot) {
    return knot.t_ns >= run.from_ns && knot.t_ns < run.next_from_ns;
  });
  return knots;
}

double hidden_around_ns(const ClockRun& run, const std::vector<ClockHideout>& hideouts) {
  double most_ns = 0;
  for (const ClockHideout& hideout : hideouts) {
    if (hideout.place == ClockHideout::Place::before &&
        (hideout.segment == run.first || hideout.segment == run.end)) {
      most_ns = std::max(most_ns, hideout.by_ns);
    }
  }
  return most_ns > 0 ? most_ns : std::numeric_limits<double>::infinity();
}

}  // namespace traceagent::tools
