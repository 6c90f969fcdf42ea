#pragma once
// Who started the ranks that meet in a run's folder: noted there by the first of them. A run that
// comes again under the same key has another launcher, or its ranks' processes have another parent:
// a script that runs it twice, a notebook whose processes are ranks.

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// Nothing is noted of what is not known.
void note_launcher(const RunFolder& folder, const Claimant& claimant);

// The launcher, or the first rank's parent, is known and has ended. False where it is in another
// pid namespace.
bool has_lost_launcher(const RunFolder& folder);

// When the claimant's rank began: in a family of the first rank's parent its child did, which may
// have begun long before.
std::int64_t rank_start_ns(const RunFolder& folder, const Claimant& claimant);

}  // namespace traceagent::process
