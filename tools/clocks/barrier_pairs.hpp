#pragma once

#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_marks.hpp"

namespace traceagent::tools {

// In the order of time, those of ranks that passed one barrier on one clock once.
std::vector<BarrierMark> joined_marks(std::vector<BarrierMark> marks);

// What takes the times of the clock that has `own` to that of `other` (both joined_marks()), a knot
// for each barrier that both have passed. Which these are nobody has written down: the marks of as
// many as can be must lie alike, as drifts allow, and where both batches are known they are equal.
// Of several ways the nearest in time is taken if the next is four times as far; none where that
// cannot be told, and where no barrier is the same.
std::vector<ClockDifference::Knot> barrier_knots(const std::vector<BarrierMark>& own,
                                                 const std::vector<BarrierMark>& other,
                                                 const ClockLimits& limits);

}  // namespace traceagent::tools
