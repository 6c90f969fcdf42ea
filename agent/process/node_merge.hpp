#pragma once
// The node's file, made by local rank zero after its peers have finished or died; by the last one
// out where local rank zero is gone.

namespace traceagent::process {

struct Agent;

// Call after this process's own files are written and its ring says `finished`.
void finish_node(Agent& agent);

}  // namespace traceagent::process
