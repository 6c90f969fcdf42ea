#pragma once

#include <vector>

#include "tools/import/foreign_file.hpp"

namespace traceagent::tools {

// Ranks that two files tell, of two hosts or of two programs at a time: each as far as the first
// two such files. After all was read.
std::vector<MixedRank> mixed_ranks(const ForeignFiles& files);

}  // namespace traceagent::tools
