#pragma once

#include <set>
#include <string>
#include <vector>

namespace traceagent::tools {

struct TraceFiles {
  std::vector<std::string> paths;
  std::set<std::string> found_in_folders;  // those of `paths` that nobody named
  std::vector<std::string> problems;       // one line each
};

// Files as they are named; of a folder, its files *.json and *.json.gz that are not hidden.
TraceFiles trace_files(const std::vector<std::string>& files_and_folders);

}  // namespace traceagent::tools
