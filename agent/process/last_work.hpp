#pragma once

#include "agent/process/window_writer.hpp"

namespace traceagent::process {

struct Agent;

// What the drain thread does when the process ends: the last window's file, then the node's file if
// this process is the one to make it, then the lines to the user.
void do_last_work(Agent& agent, WindowWriter& writer) noexcept;

}  // namespace traceagent::process
