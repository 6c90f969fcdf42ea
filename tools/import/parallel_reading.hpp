#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "tools/import/foreign_file.hpp"
#include "tools/import/import.hpp"

namespace traceagent::tools {

// Files of a rank are read one after the other: the numbers of its processes must not depend on
// who is first. So those that turn out to be another rank's are read once more behind all, and
// those of ours that another program has saved before all: they have such numbers already.
class ParallelReading {
 public:
  // Of `options`: threads and progress.
  ParallelReading(ForeignFiles& files, ForeignPids& pids, const ImportOptions& options);

  // Less than all where progress says false. Throws what reading a file throws, std::bad_alloc.
  void read_all();

 private:
  [[nodiscard]] std::vector<std::vector<ForeignFile*>> due_by_rank(
      bool (*is_wanted)(const ForeignFile&)) const;
  void read_groups();
  void work(bool tells_progress);

  ForeignFiles& files_;
  ForeignPids& pids_;
  const ImportOptions& options_;
  std::vector<std::vector<ForeignFile*>> groups_;
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::uint64_t> done_bytes_ = 0;
  std::atomic<std::size_t> next_group_ = 0;
  std::atomic<bool> goes_on_ = true;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace traceagent::tools
