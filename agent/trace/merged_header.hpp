#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/trace/merge_input.hpp"
#include "agent/trace/selection.hpp"

namespace traceagent::trace {

// The header of the merged file: of its ranks, their process groups, and where they came from.
struct MergedHeader {
  std::int64_t base_ns = 0;
  std::vector<std::int64_t> ranks;
  std::string distributed_info;
  std::string device_properties;
  std::vector<std::string> sources;
  std::string selections;  // JSON array, or empty
};
// `clock`: see MergeOptions.
MergedHeader merged_header(const std::vector<MergeInput>& inputs, const Selection* selection,
                           const std::string& clock);

}  // namespace traceagent::trace
