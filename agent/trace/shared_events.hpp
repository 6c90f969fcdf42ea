#pragma once

#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// Which inputs in use hold some of the same events, and which may (MergeInput::shares_events,
// may_share_events, of_file); again, after more are left out.
void mark_shared(std::vector<MergeInput>& inputs);

// Of inputs that may, but had (or get) their times corrected in two ways: it is told.
void tell_states_moved_apart(std::vector<MergeInput>& inputs);

}  // namespace traceagent::trace
