#pragma once
// Cycles that a run has recorded and removed since, of which a merged file knows nothing.

#include <cstdint>
#include <string>

#include "agent/trace/merge.hpp"

namespace traceagent::trace {

struct RemovedCycles {
  std::uint64_t by_keep = 0;   // output.keep
  std::uint64_t by_queue = 0;  // upload.queue: without having been uploaded
  std::uint64_t by_name = 0;   // output.overwrite: a later one of the same name replaced it
};

// Of the ranks of a merge, what this run's indexes in the folder (index_name.hpp) call removed and
// the merge has not: a file may have gone because an older one of its inputs holds it. Of cycles
// that began before `since_ns` nothing is told. Throws std::bad_alloc alone.
RemovedCycles removed_cycles(const std::string& folder, const std::string& run_key,
                             const MergeReport& merge, std::int64_t since_ns);

// "; without 18 cycles that were removed (16 by output.keep, 2 by upload.queue)", or "".
std::string in_words(const RemovedCycles& cycles);

}  // namespace traceagent::trace
