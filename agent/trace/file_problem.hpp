#pragma once

#include <string>

namespace traceagent::trace {

// "<what>: <path>: <why>: <remedy>" in one line, from an errno.
std::string file_problem(const char* what, const std::string& path, int error_number);

}  // namespace traceagent::trace
