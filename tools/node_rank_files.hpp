#pragma once

#include <string>
#include <vector>

#include "tools/node_of_run.hpp"

namespace traceagent::tools {

// Those of the rings' lists, and what no ring tells of: of processes that ended in good order
// before, and of rings that went with an earlier recovery, or with a merge that was cut. They are
// looked for in the folders of the others and in the job's own, in the run's index and in the
// node's file that is there. Of windows that were written twice, into other folders, one file each:
// that in the folder of the run's files before others.
std::vector<std::string> rank_files(const std::vector<std::string>& rings, const NodeOfRun& node);

// Of the node's file `path`, which is one of this run: whether it has a rank of which none of the
// files is.
bool has_other_rank(const std::string& path, const std::vector<std::string>& files);
// Those that the node's file `path` does not hold.
std::vector<std::string> files_not_in(const std::string& path,
                                      const std::vector<std::string>& files);

}  // namespace traceagent::tools
