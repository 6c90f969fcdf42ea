#pragma once

namespace traceagent::tools {

// The agent cannot wait() for a tool that it starts (agent/process/tool_process.hpp): told so by
// TRACEAGENT_TELLS_EXIT, the tool's last line on standard output is "exit <code>". Returns the
// code.
int tell_exit(int code) noexcept;

}  // namespace traceagent::tools
