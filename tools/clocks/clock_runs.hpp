#pragma once

#include <cstddef>
#include <vector>

#include "tools/clocks/clock_hideouts.hpp"
#include "tools/clocks/clock_knots.hpp"
#include "tools/clocks/clock_segments.hpp"

namespace traceagent::tools {

// Segments that are taken together: none but the first begins a run.
struct ClockRun {
  std::size_t first = 0;
  std::size_t end = 0;
  double from_ns = 0;
  double until_ns = 0;
  double next_from_ns = 0;  // infinite: there is none
};

// The first and the last reach to the ends of all times.
std::vector<ClockRun> clock_runs(const std::vector<ClockSegment>& segments, double from_ns,
                                 double until_ns);

// Those from the run on, until the next one begins.
std::vector<ClockKnots::Knot> knots_of(const ClockRun& run,
                                       const std::vector<ClockKnots::Knot>& all);

// By how much a clock may have been set unseen next to the run.
double hidden_around_ns(const ClockRun& run, const std::vector<ClockHideout>& hideouts);

}  // namespace traceagent::tools
