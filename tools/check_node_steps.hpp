#pragma once
// Whether the ranks of a merged file recorded the same steps in each cycle. They count for
// themselves: one that takes other calls for its steps records at another time than the rest.

#include <string_view>

#include "tools/check_report.hpp"

namespace traceagent::tools {

// `ranks`: the array "merged" of a node file. Says nothing of cycles in which all began with one
// step; the last one may differ, where the program ended in between. A rank that has several
// processes in a cycle is left out of it: they need not do the same.
void check_node_steps(std::string_view ranks, CheckReport& report);

}  // namespace traceagent::tools
