#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// "traceagent" of the merged file: {"merged": [each rank's and cycle's own], "events": n,
// "dropped":
// {...}, "missing_ranks": [...], "incomplete": [{"file", "problem"}], what the caller adds}. Each
// element of "merged" is on a line of its own. Completes `report` from what the ranks say.
std::string merged_metadata(const std::vector<MergeInput>& inputs, const MergeOptions& options,
                            MergeReport& report);

}  // namespace traceagent::trace
