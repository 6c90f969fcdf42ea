#include "agent/process/rank_holder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "agent/process/note_file.hpp"
#include "agent/process/proc_facts.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::process {
namespace {

struct Holder {
  int pid = 0;  // 0: nobody, or it is not known when it began
  bool lives = false;
};

Holder holder_of(const std::string& claim) {
  const std::string text = read_note(claim);
  char* behind_pid = nullptr;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(text.c_str(), &behind_pid, 10));
  const std::uint64_t start_time = std::strtoull(behind_pid, nullptr, 10);
  if (start_time == 0) return {};
  return {static_cast<int>(pid), ring::process_lives(pid, start_time)};
}

// A worker's rank began before anybody claimed it.
bool is_claimed_before(const std::string& claim, std::int64_t rank_start_ns) {
  struct stat facts {};
  constexpr std::int64_t second_ns = 1'000'000'000;
  return lstat(claim.c_str(), &facts) == 0 &&
         facts.st_mtim.tv_sec * second_ns + facts.st_mtim.tv_nsec < rank_start_ns;
}

bool is_or_is_child_of(int pid, const std::vector<int>& family) {
  constexpr int deepest = 16;
  for (int depth = 0; pid > 0 && depth < deepest; ++depth) {
    if (std::find(family.begin(), family.end(), pid) != family.end()) return true;
    pid = parent_of(pid);
  }
  return false;
}

}  // namespace

std::string rank_holder_in_words(const RunFolder& folder, const Identity& identity) {
  if (folder.path.empty()) return {};
  const std::string rank = std::to_string(identity.rank);
  const std::string claim = folder.path + "/claim-rank" + rank;
  const Holder holder = holder_of(claim);
  if (holder.pid == 0 || identity.family.empty()) return {};
  if (holder.lives && is_or_is_child_of(holder.pid, identity.family)) return {};
  if (!holder.lives && !is_claimed_before(claim, identity.rank_start_ns)) return {};
  // Its workers would say the same. By this ending `traceagent recover` knows the note.
  const std::string topic =
      "rank" + rank + "-held-" + std::to_string(identity.family.back()) + "-problem";
  if (!be_first(folder, topic)) return {};
  const std::string earlier = ", of an earlier run of the same key (" + identity.run_key + ")";
  if (!holder.lives) {
    return "rank " + rank + ": process " + std::to_string(holder.pid) + earlier +
           ", was killed just before: what it left is in this run's node file, and its number is "
           "another's there: merge each run's files by hand, or begin some seconds later";
  }
  return "rank " + rank + ": process " + std::to_string(holder.pid) +
         " still runs and has its number" + earlier +
         ": this one is traced as a worker of it, and no node file is made before that process "
         "ends: end it";
}

}  // namespace traceagent::process
