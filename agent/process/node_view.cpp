#include "agent/process/node_view.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "agent/drain/file_names.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/proc_facts.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t look_period_ns = 50 * ms;
// A rank that shows neither ring nor file by now makes no hooked calls, or ends long after us; a
// second claimant of a rank may wait for the first one's end.
constexpr std::uint64_t longest_wait_for_others_ns = 2000 * ms;
// Python's helpers (its server of forks, its tracker of resources) end when the pipe to them is
// closed, as it is after our last hook.
constexpr std::uint64_t longest_wait_for_children_ns = 200 * ms;

std::uint64_t now_ns() noexcept { return event::clock_ns(CLOCK_MONOTONIC); }

void pause(std::uint64_t ns) noexcept {
  const timespec duration{0, static_cast<long>(ns)};
  nanosleep(&duration, nullptr);
}

std::set<std::int64_t> ranks_seen(const Agent& agent, const std::vector<Peer>& peers) {
  std::set<std::int64_t> ranks{agent.identity.rank};
  for (const Peer& peer : peers) ranks.insert(peer.rank);
  return ranks;
}

std::vector<RunFile> strangers_in(const std::vector<RunFile>& files,
                                  const std::set<std::int64_t>& seen) {
  std::vector<RunFile> strangers;
  std::copy_if(files.begin(), files.end(), std::back_inserter(strangers),
               [&](const RunFile& file) { return seen.count(file.rank) == 0; });
  return strangers;
}

// Ranks of one job write alike: who has left as many files as we have is done.
std::size_t ranks_done(const std::vector<RunFile>& strangers, std::size_t own_files) {
  std::map<std::int64_t, std::size_t> files_of;
  for (const RunFile& file : strangers) ++files_of[file.rank];
  return static_cast<std::size_t>(
      std::count_if(files_of.begin(), files_of.end(),
                    [&](const auto& rank) { return rank.second >= own_files; }));
}

}  // namespace

bool NodeView::all_gone() const {
  return std::all_of(peers.begin(), peers.end(), [](const Peer& peer) { return peer.gone(); });
}

bool NodeView::any_alive() const {
  return std::any_of(peers.begin(), peers.end(), [](const Peer& peer) { return peer.alive; });
}

bool NodeView::all_awaited_gone(std::uint64_t waited_ns) const {
  const bool is_late = waited_ns >= longest_wait_for_others_ns;
  const bool is_late_for_children = waited_ns >= longest_wait_for_children_ns;
  return std::all_of(peers.begin(), peers.end(), [&](const Peer& peer) {
    if (peer.gone()) return true;
    if (peer.is_rank()) return false;
    const int pid = static_cast<int>(peer.pid);
    return is_late || pid == getppid() || (is_late_for_children && is_descendant_of(pid, getpid()));
  });
}

bool NodeView::has_living_zero() const {
  return std::any_of(peers.begin(), peers.end(), [](const Peer& peer) {
    return peer.local_rank == 0 && peer.is_rank() && peer.alive;
  });
}

NodeView look_at_node(const Agent& agent) {
  NodeView node;
  node.peers = look_at_peers(agent.run_folder, agent.ring.path, agent.private_place, node.problem);
  return node;
}

NodeRankFiles node_rank_files(const Agent& agent) {
  std::string folder;
  const auto named =
      config::format_name(agent.options.output_folder, drain::run_variables(agent.ring.ring));
  if (named.problem.empty()) folder = named.name;
  return {folder, agent.identity.run_key, agent.identity.node_rank,
          older_run_until_ns(agent.run_folder),
          agent.identity.is_node_rank_guess ? agent.identity.host : std::string()};
}

NodeView wait_for_node(const Agent& agent, std::uint64_t longest_ns) {
  const std::uint64_t start_ns = now_ns();
  const auto expected =
      static_cast<std::size_t>(std::max<std::int64_t>(agent.identity.local_world_size, 1));
  // What output.keep leaves of each differs for a while.
  const bool keeps_all = agent.options.output_keep < 0;
  const std::size_t own_files =
      keeps_all ? std::max<std::size_t>(agent.written_files.count(), 1) : 1;
  NodeRankFiles files = node_rank_files(agent);
  for (;;) {
    NodeView node = look_at_node(agent);
    const std::uint64_t waited_ns = now_ns() - start_ns;
    const std::set<std::int64_t> seen = ranks_seen(agent, node.peers);
    bool all_seen = seen.size() >= expected;
    if (!all_seen) {
      node.strangers = strangers_in(files.look(), seen);
      all_seen = seen.size() + ranks_done(node.strangers, own_files) >= expected ||
                 (node.strangers.empty() && waited_ns >= longest_wait_for_others_ns);
    }
    const bool gone = node.all_awaited_gone(waited_ns);
    if ((gone && all_seen) || waited_ns >= longest_ns) return node;
    pause(look_period_ns);
  }
}

bool node_zero_is_elsewhere(const Agent& agent) {
  if (agent.identity.local_world_size <= 1) return false;
  const std::uint64_t start_ns = now_ns();
  const std::int64_t zero = agent.identity.rank - agent.identity.local_rank;
  NodeRankFiles files = node_rank_files(agent);
  for (;;) {
    const std::vector<RunFile>& found = files.look();
    if (std::any_of(found.begin(), found.end(),
                    [&](const RunFile& file) { return file.rank == zero; })) {
      return true;
    }
    if (now_ns() - start_ns >= std::min(longest_wait_for_others_ns, agent.options.merge_timeout)) {
      return false;
    }
    pause(look_period_ns);
  }
}

}  // namespace traceagent::process
