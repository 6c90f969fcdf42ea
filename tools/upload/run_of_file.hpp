#pragma once

#include <string>

namespace traceagent::tools {

// The key of the run whose trace this is. Empty: no trace of ours, or none that can be read.
std::string run_of_file(const std::string& path);

}  // namespace traceagent::tools
