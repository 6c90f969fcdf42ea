#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace traceagent::process {

// The trace files of a process that are on the disk, in the order in which they were written. A job
// of weeks writes more than it has memory for: of very many the oldest are known to the run's index
// alone.
class FileList {
 public:
  static constexpr std::size_t most_paths = 4096;

  // One that is written again is the newest.
  void add(const std::string& path);
  void forget(const std::string& path);

  bool empty() const noexcept { return paths_.empty(); }
  // With those that are left out here.
  std::size_t count() const noexcept { return paths_.size() + left_out_; }
  bool is_whole() const noexcept { return left_out_ == 0; }
  const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  std::vector<std::string> paths_;
  std::size_t left_out_ = 0;
};

}  // namespace traceagent::process
