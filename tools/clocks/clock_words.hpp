#pragma once

#include <string>
#include <vector>

#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

std::string duration_in_words(double ns);   // "12.3 us"
std::string number_in_words(double value);  // "12.3"

// To be joined to what is said of the clock; `first`: where its times begin.
std::string step_in_words(const ClockStep& step, const trace::ClockKnot& first);
std::string unsure_in_words(const std::vector<ClockUnsure>& unsure);  // or nothing

}  // namespace traceagent::tools
