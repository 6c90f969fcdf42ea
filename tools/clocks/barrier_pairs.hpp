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

// How often each batch is on the clock that has it most often: as often as the job began again.
using BatchCounts = std::map<std::string, std::size_t>;
void count_batches(const PassedBarriers& barriers, BatchCounts& most);

struct PairedBarriers {
  std::vector<ClockDifference::Knot> knots;
  // A batch whose marks do not lie as the others do: a clock was set between. There are no knots
  // then.
  std::string contradiction;
};

// What takes the times of the clock that has `own` to that of `other`, a knot for each barrier that
// both have passed: marks of one batch are of one. Of several ways, as of a job that began again
// with the same batches, the one with the most that lie alike as drifts allow is taken; none where
// two are as good, nor where other clocks show (`most`) that what both have may be of two runs.
// Where no batch is known the two are taken to be of the same cycles if they have as many and all
// lie alike; else none. Of all pairs of clocks that are compared no more than `work_left` steps are
// made, so that files of any number of marks take no minutes.
PairedBarriers pair_barriers(const PassedBarriers& own, const PassedBarriers& other,
                             const BatchCounts& most, const ClockLimits& limits,
                             std::uint64_t& work_left);

}  // namespace traceagent::tools
