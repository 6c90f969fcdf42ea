#include "agent/process/earlier_run.hpp"

#include <algorithm>
#include <cstdlib>

namespace traceagent::process {
namespace {

std::int64_t last_sign_of(const RunFile& file) noexcept {
  std::int64_t last_ns = 0;
  for (const RankBegin& begin : file.begins) last_ns = std::max(last_ns, begin.base_ns + 1);
  // Its rank's last window was over by then, and those of the other ranks had begun. A merged file
  // may have been made long after.
  return file.is_merged ? last_ns : std::max(last_ns, file.modified_ns);
}

}  // namespace

void EarlierRun::look_at(const RunFile& file) {
  const std::int64_t sign_ns = last_sign_of(file);
  const bool is_of_other_world = world_size_ != 0 && file.world_size != world_size_;
  for (const RankBegin& begin : file.begins) {
    if (begin.base_ns >= rank_start_ns_) continue;
    Seen& seen = ranks_[begin.rank];
    seen.first_base_ns = std::min(seen.first_base_ns, begin.base_ns);
    seen.last_sign_ns = std::max(seen.last_sign_ns, sign_ns);
    if (is_of_other_world) {
      other_worlds_last_sign_ns_ = std::max(other_worlds_last_sign_ns_, sign_ns);
    }
  }
}

std::string EarlierRun::in_note() const {
  if (ranks_.empty()) return {};
  std::string text = std::to_string(rank_start_ns_) + "\n";
  for (const auto& [rank, seen] : ranks_) {
    text += std::to_string(rank) + " " + std::to_string(seen.first_base_ns) + " " +
            std::to_string(seen.last_sign_ns) + "\n";
  }
  return text;
}

void EarlierRun::read(const std::string& note) {
  if (note.empty()) return;
  char* at = nullptr;
  const auto number = [&at] { return std::strtoll(at, &at, 10); };
  first_start_ns_ = std::strtoll(note.c_str(), &at, 10);
  for (const char* line = nullptr; line != at;) {
    line = at;
    const std::int64_t rank = number();
    const std::int64_t first_base_ns = number();
    const std::int64_t last_sign_ns = number();
    if (last_sign_ns != 0) ranks_[rank] = {first_base_ns, last_sign_ns};
  }
}

std::int64_t EarlierRun::until_ns() const {
  // Ranks of this run whose rings are elsewhere (containers) may have begun sooner than this one.
  constexpr std::int64_t longest_between_ranks_ns = 60'000'000'000;
  std::int64_t last_sign_ns = other_worlds_last_sign_ns_;
  const auto own = ranks_.find(rank_);
  if (own != ranks_.end() && own->second.first_base_ns < rank_start_ns_) {
    last_sign_ns = std::max(last_sign_ns, own->second.last_sign_ns);
  }
  if (last_sign_ns == 0) return 0;
  const std::int64_t start_ns = std::min(rank_start_ns_, first_start_ns_);
  // The file system's clock may be another host's.
  return std::min(start_ns, std::max(last_sign_ns, start_ns - longest_between_ranks_ns));
}

}  // namespace traceagent::process
