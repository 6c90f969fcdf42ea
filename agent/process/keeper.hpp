#pragma once

namespace traceagent::process {

struct Agent;

// Option `keeper`: starts `traceagent recover --wait` for this node's run, once per node, as
// tool_process.hpp says. What is wrong with it is said in one line.
void start_keeper(const Agent& agent);

}  // namespace traceagent::process
