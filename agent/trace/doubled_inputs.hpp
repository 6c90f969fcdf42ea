#pragma once

#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// Marks as left out what others hold too: files given twice, copies, merged files beside their rank
// files and the other way round, parts that cannot be joined. What is lost by it is told as its
// problem.
void leave_out_doubled(std::vector<MergeInput>& inputs, const Selection* selection);

}  // namespace traceagent::trace
