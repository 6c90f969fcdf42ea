#pragma once

#include <string>
#include <vector>

#include "agent/trace/merge.hpp"

namespace traceagent::tools {

// Of the runs that the trace files are of: processes that still run, or were killed and wait to be
// recovered, as this user's rings under `ring.folder` show them.
std::vector<trace::Unfinished> unfinished_ranks(const std::vector<std::string>& trace_files);

}  // namespace traceagent::tools
