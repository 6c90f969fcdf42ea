#pragma once
// A run of the same key that ended in good order and left nothing but its files: that of a static
// address and port, or of another program under the same launcher. Of one that was killed see
// older_run.hpp.

#include <cstdint>
#include <map>
#include <string>

#include "agent/process/run_files.hpp"

namespace traceagent::process {

// What is in the output folder as the node's first process begins tells of it: a file of a
// process's own rank, from before the rank began, or of a world of another size. A rank that begins
// late in its run finds none. The first process may be of a rank that the earlier run did not have:
// what it has seen of the other ranks goes into a note for them.
class EarlierRun {
 public:
  // `world_size` 0: not stated.
  EarlierRun(std::int64_t rank, std::int64_t rank_start_ns, std::int64_t world_size = 0) noexcept
      : rank_(rank), rank_start_ns_(rank_start_ns), world_size_(world_size) {}

  void look_at(const RunFile& file);
  // A line for each rank; empty: no file of the key was there.
  std::string in_note() const;
  void read(const std::string& note);
  // Files of the key that begin before this are that run's; 0: there was none.
  std::int64_t until_ns() const;

 private:
  struct Seen {
    std::int64_t first_base_ns = INT64_MAX;
    std::int64_t last_sign_ns = 0;
  };

  const std::int64_t rank_, rank_start_ns_, world_size_;
  std::int64_t first_start_ns_ = INT64_MAX;  // of the process that has looked
  std::map<std::int64_t, Seen> ranks_;
  std::int64_t other_worlds_last_sign_ns_ = 0;
};

}  // namespace traceagent::process
