#include "agent/process/private_workers.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <string>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t most_dead_rings = 16;
// Of small rings more: some die before any is written.
constexpr std::uint64_t usual_dead_bytes = 256 << 20;

}  // namespace

std::uint64_t most_dead_bytes(const RunFolder& folder, std::uint64_t ring_bytes,
                              std::uint64_t rings) noexcept {
  const std::uint64_t bytes =
      std::max(std::max(most_dead_rings, rings) * ring_bytes, usual_dead_bytes);
  struct statvfs space {};
  // Without blocks: a tmpfs without a limit.
  if (statvfs(folder.path.c_str(), &space) != 0 || space.f_blocks == 0) return bytes;
  return std::min<std::uint64_t>(bytes, space.f_blocks * space.f_frsize / 4);
}

bool has_more_dead_than(const RunFolder& folder, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (const std::string& path : ring_paths(folder)) {
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) continue;
    ring::OpenedRing opened = ring::open_ring(path);
    ring::close_ring(opened);
    if (!opened.owner_alive) sum += static_cast<std::uint64_t>(facts.st_blocks) * 512;
    if (sum > bytes) return true;
  }
  return false;
}

void note_private_worker(Agent& agent) {
  be_first(agent.run_folder, tidied_topic);
  agent.private_place =
      ring::take_private_place(agent.run_folder.path, agent.identity.rank,
                               agent.identity.local_rank, agent.trace_pid == agent.identity.rank);
  if (agent.private_place.worker != nullptr) return;
  // Of a ring that the folder did not take it is said that it does not survive a kill.
  if (!agent.ring.problem.empty() && !agent.ring.is_crowded_out) return;
  if (!is_spokesman(agent, "private-workers-note")) return;
  say_problem("ring.folder: " + agent.run_folder.path + "/" + ring::private_workers_note +
              ": no room for a process that records in private memory: nobody waits for it, and if "
              "it is killed nobody tells");
}

ring::PrivateKilled private_workers_killed(const Agent& agent) {
  if (agent.run_folder.path.empty()) return {};
  return ring::private_workers_of(agent.run_folder.path, agent.private_place).killed;
}

void say_private_workers_killed(const ring::PrivateKilled& killed) {
  if (killed.count() == 0) return;
  say_problem(ring::in_words(killed) + (killed.count() == 1 ? " that was" : " that were") +
              " killed had recorded in private memory: what was not written yet is lost");
}

void say_private_workers_killed_once(const Agent& agent, const ring::PrivateKilled& killed) {
  if (killed.count() != 0 && is_spokesman(agent, "private-workers-killed")) {
    say_private_workers_killed(killed);
  }
}

}  // namespace traceagent::process
