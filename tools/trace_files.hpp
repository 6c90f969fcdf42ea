#pragma once

#include <string>
#include <vector>

namespace traceagent::tools {

struct TraceFiles {
  std::vector<std::string> paths;
  std::vector<std::string> foreign;   // found in folders, but not ours; nobody named them
  std::vector<std::string> problems;  // one line each
};

// Files as they are named; of a folder, those of its files *.json and *.json.gz that are not hidden
// and begin as our traces do.
TraceFiles trace_files(const std::vector<std::string>& files_and_folders);

}  // namespace traceagent::tools
