#include "tools/trace_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "agent/trace/input_file.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

namespace {

bool is_trace_name(const std::string& name) {
  return !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".json.gz"));
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
    (is_own_trace(path) ? files.paths : files.foreign).push_back(path);
  }
}

}  // namespace

bool is_own_trace(const std::string& path) {
  constexpr std::string_view begin = "{\n\"schemaVersion\": 1,\n\"distributedInfo\": ";
  trace::InputFile file;
  if (!file.open(path)) return true;  // to be reported as what it most likely is
  char text[begin.size()];
  std::size_t size = 0;
  std::size_t got = 0;
  while (size < begin.size() &&
         file.read(text + size, begin.size() - size, got) == trace::InputFile::Status::data) {
    size += got;
  }
  return std::string_view(text, size) == begin.substr(0, size);
}

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
