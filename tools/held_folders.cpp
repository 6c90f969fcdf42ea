#include "tools/held_folders.hpp"

#include <filesystem>

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

void hold(const std::string& folder, HeldFolders& held) {
  std::error_code ignored;
  // None is made: only where output.keep is set there is one.
  if (!fs::is_regular_file(trace::keep_lock_path(folder), ignored)) return;
  held.push_back(std::make_unique<trace::FileLock>(trace::keep_lock_path(folder)));
  static_cast<void>(held.back()->lock_soon(trace::FileLock::Kind::shared));
}

}  // namespace

HeldFolders hold_folders(const std::vector<std::string>& files_and_folders, bool recursive) {
  HeldFolders held;
  for (const std::string& path : files_and_folders) {
    std::error_code error;
    if (!fs::is_directory(path, error)) continue;
    hold(path, held);
    if (!recursive) continue;
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
    for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (at->is_directory(ignored)) hold(at->path().string(), held);
    }
  }
  return held;
}

}  // namespace traceagent::tools
