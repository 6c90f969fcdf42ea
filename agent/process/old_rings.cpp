#include "agent/process/old_rings.hpp"

#include <string>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/dead_runs.hpp"

namespace traceagent::process {

void remove_old_rings(const Agent& agent) noexcept try {
  constexpr std::uint64_t patience_ns = 100'000'000;
  const std::string& own_run = agent.run_folder.path;
  const std::uint64_t keep_ns = agent.options.ring_keep_dead;
  const bool is_wanted = keep_ns != 0 || agent.options.verbose;
  if (own_run.empty() || !agent.speaks_for_node() || !is_wanted) return;
  const std::string users_folder = own_run.substr(0, own_run.rfind('/'));
  const ring::OldRuns old = ring::remove_old_runs(users_folder, own_run, keep_ns, patience_ns);
  if (old.removed_rings > 0) {
    say_detail("removed " + std::to_string(old.removed_rings) + " rings (" +
               std::to_string(old.removed_bytes >> 20) +
               " MiB) of jobs that died longer ago than ring.keep_dead");
  }
  if (old.dead_rings > 0) {
    say_detail(users_folder + ": " + std::to_string(old.dead_rings) +
               " rings of dead jobs: traceagent recover --list");
  }
} catch (...) {
  // Out of memory: they stay.
}

}  // namespace traceagent::process
