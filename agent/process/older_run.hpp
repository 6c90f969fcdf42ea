#pragma once
// An older run of the same key: see claim_rank() in run_folder.hpp.

#include <cstdint>
#include <string>

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// Where the folder is that of a run which was killed, moves it away and makes it anew. True when
// the claim is gone, so that the rank can be claimed again.
bool set_dead_run_aside(const RunFolder& folder, const std::string& own_claim, int pid);

// Files of the run's key that begin before this are an older run's; 0: there was none.
std::int64_t older_run_until_ns(const RunFolder& folder);

}  // namespace traceagent::process
