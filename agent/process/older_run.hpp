#pragma once
// An older run of the same key: one that was killed, see claim_rank() in run_folder.hpp, or one
// that ended in good order, see earlier_run.hpp.

#include <cstdint>
#include <string>

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// Who finds another run's folder in the place of its own.
struct Newcomer {
  std::string claim;           // of its rank there
  std::int64_t rank_start_ns;  // CLOCK_REALTIME; 0: not known
  std::int64_t world_size;     // 0: not stated
  int pid;
};

// One whose processes have all ended well may go on: with a rank that begins late, or with one
// whose child used its number before it did. So may one in which this rank has not been: others of
// its run may be dead already. Unless the rank began after the last that is known of the folder's,
// and their launcher has ended, or their world is of another size, or that was seconds before.
bool is_dead_run(const RunFolder& folder, const Newcomer& newcomer);

// Where the folder is that of a run which was killed, moves it away and makes it anew. True when
// the claim is gone, so that the rank can be claimed again.
bool set_dead_run_aside(const RunFolder& folder, const Newcomer& newcomer);

struct OlderRun {
  std::int64_t until_ns = 0;  // files of the run's key that begin before are its; 0: there was none
  int pid = 0;                // of this run: names what would have its files' names
};

void note_older_run(const RunFolder& folder, const OlderRun& older);
OlderRun older_run(const RunFolder& folder);
std::int64_t older_run_until_ns(const RunFolder& folder);

}  // namespace traceagent::process
