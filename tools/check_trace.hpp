#pragma once
// The page of "traceagent check FILE": what a trace holds, what it lacks and why.

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/check_report.hpp"

namespace traceagent::tools {

// A rank file or a node file of ours, plain or gzip. Reads all of it. False, with one line in
// `problem`, when it cannot be read as one or is cut; the page then says how much could be read.
bool check_trace(const std::string& path, CheckReport& report, std::string& problem);

// One rank's metadata: the value of "traceagent" in its file.
void check_rank(std::string_view metadata, CheckReport& report);

}  // namespace traceagent::tools
