#pragma once

#include <string>
#include <vector>

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

struct FolderVerdict {
  bool usable = true;
  std::string problem;  // one line, for one process of the node only
};

// With overwrite false a folder that holds files of another run is refused, before any rank of this
// one has written. Files whose names match a pattern of `included` (merge.include) are expected
// there. The node's first process looks, the others learn what it found.
FolderVerdict check_output_folder(const RunFolder& run, const std::string& folder,
                                  const std::string& run_key,
                                  const std::vector<std::string>& included = {});

}  // namespace traceagent::process
