#pragma once

#include <string>
#include <vector>

#include "agent/process/earlier_run.hpp"
#include "agent/process/run_folder.hpp"

namespace traceagent::process {

struct FolderVerdict {
  bool usable = true;
  std::int64_t older_until_ns = 0;  // where there is no run folder for the note
  std::string problem;              // one line, for one process of the node only
};

// With overwrite false a folder that holds files of another run is refused, before any rank of this
// one has written. Files whose names match a pattern of `included` (merge.include) are expected
// there, or all ("*") with overwrite true. The node's first process looks, the others learn what it
// found: so with an earlier run of the same key, whose files are no foreign ones, and which each
// looks for by its own rank.
FolderVerdict check_output_folder(const RunFolder& run, const std::string& folder,
                                  const std::string& run_key,
                                  const std::vector<std::string>& included, EarlierRun& earlier,
                                  int pid);

}  // namespace traceagent::process
