#include "tools/trace_files.hpp"

#include <algorithm>
#include <filesystem>

#include "agent/trace/trace_reader.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

namespace {

bool is_trace_name(const std::string& name) {
  return !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".json.gz"));
}

// A trace of ours that is cut or unreadable is not foreign: it is to be reported.
bool is_foreign(const std::string& path) {
  trace::TraceReader reader;
  return !reader.open(path) && reader.problem().starts_with("not a trace");
}

void add_folder(const std::string& folder, TraceFiles& files) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (is_trace_name(at->path().filename().string()) && at->is_regular_file(ignored)) {
      found.push_back(at->path().string());
    }
  }
  if (error) {
    files.problems.push_back("cannot read a folder: " + folder + ": " + error.message() +
                             ": give one that this user may read");
  } else if (found.empty()) {
    files.problems.push_back("no trace: " + folder +
                             ": give a folder that holds *.json or *.json.gz");
  }
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) {
    (is_foreign(path) ? files.foreign : files.paths).push_back(path);
  }
}

}  // namespace

TraceFiles trace_files(const std::vector<std::string>& files_and_folders) {
  TraceFiles files;
  for (const std::string& path : files_and_folders) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files);
    } else {
      files.paths.push_back(path);
    }
  }
  return files;
}

}  // namespace traceagent::tools
