#pragma once

#include <string>

namespace traceagent::tools {

// Returns when no process of the run lives any more. True: they left rings behind, and nobody has
// come to take them. False: the run has cleaned up after itself. `run_folder`: see
// agent/process/run_folder.hpp.
bool wait_for_end_of_run(const std::string& run_folder);

// What is printed from now on is added to this file, which is no link.
void print_into(const std::string& path);

}  // namespace traceagent::tools
