#pragma once

#include <string>

#include "agent/trace/merge.hpp"
#include "tools/selection/event_selection.hpp"

namespace traceagent::tools {

// Prints what there is to say, problems to standard error. True when nothing is wrong.
bool print_report(const trace::MergeReport& report, const std::string& output);
// The first part of it. True when nothing is wrong with them.
bool print_inputs(const trace::MergeReport& report);
// That the job has more nodes than the one that is there whole: mostly it is meant so.
void print_other_nodes(const trace::MergeReport& report);

// What a selection left out.
void print_selection(const SelectionCounts& counts);

}  // namespace traceagent::tools
