#pragma once

#include <cstddef>
#include <vector>

#include "tools/clocks/clock_segments.hpp"

namespace traceagent::tools {

// A time in which a clock may have been set by a millisecond or more though nothing shows it.
struct ClockHideout {
  enum class Place { before, within, at_end };
  std::size_t segment = 0;
  Place place = Place::before;  // the pause is before the segment, or in it; or no pause: at one of
                                // the ends of a run
  double from_ns = 0;
  double until_ns = 0;
  double by_ns = 0;  // at most, if it was set once; infinite: not known
};

// Of the pauses between segments in a run and between runs, and within segments. A step may hide
// where what both sides say, each for itself up to its next pause, leaves room for one.
std::vector<ClockHideout> clock_hideouts(std::vector<ClockSegment>& segments,
                                         const ClockLimits& limits);

}  // namespace traceagent::tools
