#pragma once
// Traces that the job's other profilers have left beside ours (merge.include).

#include <string>

namespace traceagent::process {

struct Agent;

// Merges those that are there into the node's file, which holds all of ours already and stays as it
// is where that fails. A tool does it: what others write is not read in the job's process.
void include_traces(const Agent& agent, const std::string& node_path);

}  // namespace traceagent::process
