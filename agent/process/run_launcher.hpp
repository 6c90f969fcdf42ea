#pragma once
// Who started the ranks that meet in a run's folder: noted there by the first of them. A run that
// comes again under the same key has another one.

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// `pid`: 0 where it is not known; then nothing is noted.
void note_launcher(const RunFolder& folder, int pid);

// It is known, and has ended. False where it is in another pid namespace.
bool has_lost_launcher(const RunFolder& folder);

}  // namespace traceagent::process
