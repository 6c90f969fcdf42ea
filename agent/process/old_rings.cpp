#include "agent/process/old_rings.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "agent/counters/proc_text.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/private_workers.hpp"
#include "agent/process/proc_file.hpp"
#include "agent/ring/dead_runs.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t patience_ns = 100'000'000;
// The job's first call waits for it, whatever lies there.
constexpr std::uint64_t look_patience_ns = 30'000'000;
constexpr const char* too_much_old_topic = "old-rings";

std::string users_folder(const Agent& agent) {
  const std::string& own_run = agent.run_folder.path;
  return own_run.substr(0, own_run.rfind('/'));
}

ring::OldRuns remove_old_runs(const Agent& agent) {
  return ring::remove_old_runs(users_folder(agent), agent.run_folder.path,
                               agent.options.ring_keep_dead, patience_ns);
}

void say_too_much(const Agent& agent, std::uint64_t dead_bytes, std::uint64_t most_bytes) {
  if (!is_spokesman(agent, too_much_old_topic)) return;
  say_problem("ring.folder: " + users_folder(agent) + ": rings of killed jobs take " +
              config::show_bytes(dead_bytes >> 20 << 20) + " of memory, more than " +
              config::show_bytes(most_bytes) +
              ": this job records in private memory, which does not survive a kill: `traceagent "
              "recover --all` writes what they hold, `traceagent recover --discard` removes it");
}

}  // namespace

void remove_old_rings(const Agent& agent) noexcept try {
  if (agent.run_folder.path.empty() || !agent.speaks_for_node()) return;
  const ring::OldRuns old = remove_old_runs(agent);
  if (old.removed_rings > 0) {
    say_detail("removed " + std::to_string(old.removed_rings) + " rings (" +
               std::to_string(old.removed_bytes >> 20) +
               " MiB) of jobs that died longer ago than ring.keep_dead");
  }
  if (old.dead_rings > 0) {
    say_detail(users_folder(agent) + ": " + std::to_string(old.dead_rings) +
               " rings of dead jobs: traceagent recover --list");
  }
} catch (...) {
  // Out of memory: they stay.
}

std::uint64_t group_memory_bytes(const std::string& root) {
  constexpr std::size_t most_bytes = 65536;
  const std::string groups = read_proc_file(root + "/proc/self/cgroup", most_bytes).value_or("");
  const auto group = counters::memory_group(groups);
  if (!group) return UINT64_MAX;
  const std::string base = root + "/sys/fs/cgroup" + (group->is_v2 ? "" : "/memory");
  const char* const name = group->is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
  std::uint64_t least = UINT64_MAX;
  for (const std::string& path : counters::group_and_above(group->path)) {
    const auto text = read_proc_file(base + path + name, most_bytes);
    const std::uint64_t bytes = text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
    if (bytes != 0) least = std::min(least, bytes);  // else "max"
  }
  return least;
}

std::uint64_t most_old_bytes(const Agent& agent) {
  constexpr std::uint64_t share = 4;
  const auto ranks = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(agent.identity.local_world_size, 1, 4096));
  const std::uint64_t ring_bytes = agent.options.ring_size;
  const std::uint64_t bytes = most_dead_bytes(agent.run_folder, ring_bytes, 2 * ranks);
  return std::min(bytes, group_memory_bytes("") / share);
}

bool has_too_much_old(const Agent& agent) {
  if (agent.run_folder.path.empty()) return false;
  if (has_been(agent.run_folder, std::string(too_much_old_topic) + "-problem")) return true;
  // Workers that come later do as the ranks did.
  if (agent.trace_pid != agent.identity.rank) return false;
  const std::uint64_t most_bytes = most_old_bytes(agent);
  if (ring::bytes_of_other_runs(users_folder(agent), agent.run_folder.path, look_patience_ns) <=
      most_bytes) {
    return false;
  }
  const std::uint64_t dead_bytes = remove_old_runs(agent).dead_bytes;
  if (dead_bytes > most_bytes) say_too_much(agent, dead_bytes, most_bytes);
  return dead_bytes > most_bytes;
}

}  // namespace traceagent::process
