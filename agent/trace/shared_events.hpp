#pragma once

#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// Which inputs in use hold some of the same events, and which may (MergeInput::shares_events,
// may_share_events, of_file); again, after more are left out.
void mark_shared(std::vector<MergeInput>& inputs);

}  // namespace traceagent::trace
