#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// The first run of one file of others that an input is, or was merged of; of anything else no mark.
struct RunOfFile {
  std::string mark;
  std::int64_t number = 0;
};
RunOfFile run_of(const MergeInput& input);

// By rank and time, so that the cycles of a rank stand in the order in which they happened: of
// events of one time those of the earlier input come first. What one file of others has become
// (its runs, one for each of its threads, say) stays together, in the order of the runs, whichever
// has the first event: what stood first in the file does so in the merge.
void put_in_order(std::vector<MergeInput>& inputs);

}  // namespace traceagent::trace
