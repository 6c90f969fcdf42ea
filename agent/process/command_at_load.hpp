#pragma once

#include <string>
#include <vector>

namespace traceagent::process {

// The process's arguments as they were when it began: later a title may lie over them, another for
// each rank (setproctitle). A forked child has its parent's.
void keep_command(int count, const char* const* arguments) noexcept;

// Those that fit into a page; empty: not known.
std::vector<std::string> command_at_load();

}  // namespace traceagent::process
