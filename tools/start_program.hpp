#pragma once

#include <string>
#include <vector>

namespace traceagent::tools {

// As env(1): the program's own exit code is passed on, these are ours.
inline constexpr int exit_cannot_launch = 125;  // we failed before the program's turn
inline constexpr int exit_cannot_run = 126;     // found, but it cannot be run
inline constexpr int exit_not_found = 127;

// Becomes the program (found in PATH). Returns, with the exit code, only when that fails.
int start_program(const std::vector<std::string>& command);

}  // namespace traceagent::tools
