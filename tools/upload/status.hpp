#pragma once

#include <string>

namespace traceagent::tools {

// A line for each journal and for each file that waits. True if none does.
bool print_status(const std::string& folder);

}  // namespace traceagent::tools
