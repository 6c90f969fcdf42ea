#pragma once
// Traces that the job's other profilers have left beside ours (merge.include).

#include <cstdint>
#include <string>
#include <vector>

#include "config/options.hpp"

namespace traceagent::process {

struct Agent;

// Merges those that are there into the node's file, which holds all of ours already and stays as it
// is where that fails. A tool does it: what others write is not read in the job's process. `ranks`:
// those that the file has; what is of another node's goes into that one's.
void include_traces(Agent& agent, const std::string& node_path,
                    const std::vector<std::int64_t>& ranks);

// Of names of files: the option's.
std::vector<std::string> included_patterns(const config::Options& options);

}  // namespace traceagent::process
