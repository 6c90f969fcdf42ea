#pragma once

#include <cstdint>
#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_marks.hpp"

namespace traceagent::tools {

// In the order of time; of ranks that passed one barrier on one clock, which tell the same batch or
// none, the lowest one's.
std::vector<BarrierMark> joined_marks(std::vector<BarrierMark> marks);

// What takes the times of the clock that has `own` to that of `other` (both joined_marks()), a knot
// for each barrier that both have passed: marks of one batch are of one. Of several ways, as of a
// job that began again with the same batches, the one with the most that lie alike as drifts allow
// is taken; none where two are as good. Where no batch is known the two are taken to be of the same
// cycles if they have as many and all lie alike; else none. Of all pairs of clocks that are
// compared no more than `work_left` steps are made, so that a file of any number of marks takes no
// minutes.
std::vector<ClockDifference::Knot> barrier_knots(const std::vector<BarrierMark>& own,
                                                 const std::vector<BarrierMark>& other,
                                                 const ClockLimits& limits,
                                                 std::uint64_t& work_left);

}  // namespace traceagent::tools
