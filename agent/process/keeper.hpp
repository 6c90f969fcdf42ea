#pragma once

#include <string_view>

namespace traceagent::process {

struct Agent;

// Option `keeper`: starts `traceagent recover --wait` for this node's run, once per node, as
// tool_process.hpp says. What is wrong with it is said in one line.
void start_keeper(const Agent& agent);

// Whether a file of the output folder is named as the keeper of some node names its log.
bool is_keeper_log(std::string_view name) noexcept;

}  // namespace traceagent::process
