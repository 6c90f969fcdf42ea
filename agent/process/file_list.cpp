#include "agent/process/file_list.hpp"

namespace traceagent::process {

void FileList::add(const std::string& path) {
  forget(path);
  if (paths_.size() == most_paths) {
    paths_.erase(paths_.begin());
    ++left_out_;
  }
  paths_.push_back(path);
}

void FileList::forget(const std::string& path) { std::erase(paths_, path); }

}  // namespace traceagent::process
