#pragma once

#include <vector>

#include "tools/upload/journal.hpp"

namespace traceagent::tools {

// Rank files beyond output.keep, oldest first: of each process, only files that are safely uploaded
// count and go. The newest stays for the node's file until that is made, even with keep: 0.
std::vector<Upload*> files_to_remove(Journal& journal);

}  // namespace traceagent::tools
