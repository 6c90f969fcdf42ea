#pragma once

#include <string>
#include <vector>

namespace traceagent::tools {

struct TraceFiles {
  std::vector<std::string> paths;
  std::vector<std::string> foreign;   // found in folders, but not ours
  std::vector<std::string> problems;  // one line each
};

// Whether it begins as our traces do; it may be cut, or cut off there.
bool is_own_trace(const std::string& path);

// Files as they are named; of a folder, those of its files *.json and *.json.gz that are not hidden
// and begin as our traces do.
TraceFiles trace_files(const std::vector<std::string>& files_and_folders);

}  // namespace traceagent::tools
