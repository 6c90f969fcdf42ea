#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_marks.hpp"

namespace traceagent::tools {

// The barriers that one clock has passed.
struct PassedBarriers {
  // In the order of time; of ranks that passed one barrier on one clock, which tell the same batch
  // or none, the lowest one's.
  std::vector<BarrierMark> marks;
  std::map<std::string, std::vector<std::size_t>> of_batch;  // where each batch is among them

  explicit PassedBarriers(std::vector<BarrierMark> all);
};

// How often the job has begun, as far as this clock shows: a job that begins again has the same
// batches.
std::size_t runs_of(const PassedBarriers& barriers);

// What takes the times of the clock that has `own` to that of `other`, a knot for each barrier that
// both have passed: marks of one batch are of one. Of several ways, as of a job that began again,
// the one with the most that lie alike as drifts allow is taken; none where two are as good, nor
// where the job has begun `runs` times and neither clock has any of these batches as often: then
// each may be of another run. Where no batch is known the two are taken to be of the same cycles
// if they have as many and all lie alike; else none. No more than `work_left` steps are made, so
// that files of any number of marks take no minutes.
std::vector<ClockDifference::Knot> pair_barriers(const PassedBarriers& own,
                                                 const PassedBarriers& other, std::size_t runs,
                                                 const ClockLimits& limits,
                                                 std::uint64_t& work_left);

}  // namespace traceagent::tools
