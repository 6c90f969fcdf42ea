#pragma once
// A run of the same key that ended in good order and left nothing but its files: that of a static
// address and port, or of another program under the same launcher. Of one that was killed see
// older_run.hpp.

#include <cstdint>

#include "agent/process/run_files.hpp"

namespace traceagent::process {

// What is in the output folder as this process begins tells of it: a file of this process's own
// rank, from before the rank began. A rank that begins late in its run finds none.
class EarlierRun {
 public:
  EarlierRun(std::int64_t rank, std::int64_t rank_start_ns) noexcept
      : rank_(rank), rank_start_ns_(rank_start_ns) {}

  void look_at(const RunFile& file) noexcept;
  // Files of the key that begin before this are that run's; 0: there was none.
  std::int64_t until_ns() const noexcept;

 private:
  const std::int64_t rank_, rank_start_ns_;
  std::int64_t last_sign_ns_ = 0;
};

}  // namespace traceagent::process
