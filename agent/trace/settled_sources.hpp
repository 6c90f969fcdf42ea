#pragma once

#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// Of one text of others that several inputs are, or hold, one may tell the rank and the other not:
// it lay elsewhere, the user told it, or an earlier version wrote no told ranks. Before inputs are
// compared (identity_of()) all get what one of them tells. Two ranks that are told stay two files,
// but where the user has told the one in the place of the other (named_rank_member).
void settle_sources(std::vector<MergeInput>& inputs);

}  // namespace traceagent::trace
