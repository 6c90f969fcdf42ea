#include "agent/process/earlier_run.hpp"

#include <algorithm>

namespace traceagent::process {

void EarlierRun::look_at(const RunFile& file) noexcept {
  const bool is_earlier =
      std::any_of(file.begins.begin(), file.begins.end(), [&](const RankBegin& begin) {
        return begin.rank == rank_ && begin.base_ns < rank_start_ns_;
      });
  if (!is_earlier) return;
  for (const RankBegin& begin : file.begins) {
    last_sign_ns_ = std::max(last_sign_ns_, begin.base_ns + 1);
  }
  // Its rank's last window was over by then, and those of the other ranks had begun. A merged file
  // may have been made long after.
  if (!file.is_merged) last_sign_ns_ = std::max(last_sign_ns_, file.modified_ns);
}

std::int64_t EarlierRun::until_ns() const noexcept {
  // Ranks of this run whose rings are elsewhere (containers) may have begun sooner than this one.
  constexpr std::int64_t longest_between_ranks_ns = 60'000'000'000;
  if (last_sign_ns_ == 0) return 0;
  // The file system's clock may be another host's.
  return std::min(rank_start_ns_,
                  std::max(last_sign_ns_, rank_start_ns_ - longest_between_ranks_ns));
}

}  // namespace traceagent::process
