#pragma once

#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_marks.hpp"

namespace traceagent::tools {

// In the order of time, those of ranks that passed one barrier on one clock once.
std::vector<BarrierMark> joined_marks(std::vector<BarrierMark> marks);

// What takes the times of the clock that has `own` to that of `other` (both joined_marks()), a knot
// for each barrier that both have passed. Two marks of equal batches are of one; the others where
// they then lie alike, as drifts allow. Of several ways the one with the most is taken; none where
// two are as good, as of a job that began again with the same batches. Where no batch is known the
// two are taken to be of the same cycles if they have as many and all lie alike; else none.
std::vector<ClockDifference::Knot> barrier_knots(const std::vector<BarrierMark>& own,
                                                 const std::vector<BarrierMark>& other,
                                                 const ClockLimits& limits);

}  // namespace traceagent::tools
