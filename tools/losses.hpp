#pragma once

#include <cstdint>
#include <string>

#include "agent/trace/merge.hpp"

namespace traceagent::tools {

// "1 rank", "4 ranks".
std::string in_words(std::uint64_t count, const char* noun);

// ", 3 events lost (ring_full 2, late 1), names_full 4", or empty.
std::string losses_in_words(const trace::MergeReport& report);

}  // namespace traceagent::tools
