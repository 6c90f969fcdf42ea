#pragma once
// Our own tools, started from the job's process. None is a child that the job could see: no
// SIGCHLD, nothing for wait(), none of its descriptors. Only where the job is the first process of
// its container does a tool become a child of it, as all orphans do. A tool has the job's
// environment, as it was at the first call of CUDA or NCCL, but for what concerns the agent
// (LD_PRELOAD, TRACEAGENT_*), sits in a session of its own, and ignores TERM, INT and HUP.

#include <cstdint>
#include <string>
#include <vector>

namespace traceagent::process {

// In the thread of the job that starts the agent. No thread of ours may read the environment: the
// job's setenv moves it and frees what was there.
void keep_environment();

// Starts it and forgets it; its output goes nowhere. Returns what went wrong, or "".
std::string start_tool(std::vector<std::string> words);

struct ToolEnd {
  std::string problem;  // it could not be started
  bool ended = false;   // false: it still ran when the time was over, and was ended
  int exit_code = -1;   // -1: not told, since it was killed
  std::string said;     // on standard output and error, the first 64 KiB
};

// Starts it and waits for its end.
ToolEnd run_tool(std::vector<std::string> words, std::uint64_t timeout_ns);

}  // namespace traceagent::process
