#include "agent/process/rank_holder.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "agent/process/note_file.hpp"
#include "agent/process/proc_facts.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::process {
namespace {

// 0: nobody, or nobody who lives.
int living_holder(const std::string& claim) {
  const std::string text = read_note(claim);
  char* behind_pid = nullptr;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(text.c_str(), &behind_pid, 10));
  const std::uint64_t start_time = std::strtoull(behind_pid, nullptr, 10);
  const bool lives = start_time != 0 && ring::process_lives(pid, start_time);
  return lives ? static_cast<int>(pid) : 0;
}

bool is_or_is_child_of(int pid, const std::vector<Forebear>& family) {
  constexpr int deepest = 16;
  for (int depth = 0; pid > 0 && depth < deepest; ++depth) {
    const auto is_it = [pid](const Forebear& forebear) { return forebear.pid == pid; };
    if (std::any_of(family.begin(), family.end(), is_it)) return true;
    pid = parent_of(pid);
  }
  return false;
}

}  // namespace

std::string rank_holder_in_words(const RunFolder& folder, const Identity& identity) {
  if (folder.path.empty()) return {};
  const std::string rank = std::to_string(identity.rank);
  const int holder = living_holder(folder.path + "/claim-rank" + rank);
  if (holder == 0 || identity.family.empty()) return {};
  if (is_or_is_child_of(holder, identity.family)) return {};
  // Its workers would say the same. By this ending `traceagent recover` knows the note.
  const std::string topic =
      "rank" + rank + "-held-" + std::to_string(identity.family.back().pid) + "-problem";
  if (!be_first(folder, topic)) return {};
  return "rank " + rank + ": process " + std::to_string(holder) +
         " still runs and has its number, of an earlier run of the same key (" + identity.run_key +
         "): this one is traced as a worker of it, and no node file is made before that process "
         "ends: end it";
}

}  // namespace traceagent::process
