#pragma once

#include <string>

#include "agent/trace/merge.hpp"
#include "tools/selection/event_selection.hpp"

namespace traceagent::tools {

// Prints what there is to say, problems to standard error. True when nothing is wrong.
bool print_report(const trace::MergeReport& report, const std::string& output);

// What a selection left out.
void print_selection(const SelectionCounts& counts);

}  // namespace traceagent::tools
