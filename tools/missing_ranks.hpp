#pragma once

#include "agent/trace/merge.hpp"

namespace traceagent::tools {

// The lines of the job's ranks, or a node's, of which no input is.
void print_missing_ranks(const trace::MergeReport& report);
void print_missing_ranks(const trace::JobRanks& job);

}  // namespace traceagent::tools
