#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/trace/upload_journal.hpp"

namespace traceagent::tools {

using HeldFolders = std::vector<std::unique_ptr<trace::FileLock>>;

// While these live no running job removes files from the folders (output.keep), where it would by
// now: what was found there is still there when it is read. Those that are another user's, or on a
// file system without locks, are not held.
HeldFolders hold_folders(const std::vector<std::string>& files_and_folders, bool recursive);

}  // namespace traceagent::tools
