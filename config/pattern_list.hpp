#pragma once
// Patterns of files' names in one text, separated by commas: merge.include.

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

// Each without the spaces around it; none that are empty.
std::vector<std::string> patterns_of(std::string_view list);

// Why it finds other files than it seems to, or none, and what to do; or empty.
std::string doubt_about_pattern(std::string_view pattern);

}  // namespace traceagent::config
