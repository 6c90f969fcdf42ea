#include "agent/process/dead_workers.hpp"

#include <unistd.h>

#include <algorithm>

#include "agent/drain/recover_ring.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/peers.hpp"
#include "agent/process/run_folder.hpp"
#include "agent/ring/written_files.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t look_period_ns = 5'000'000'000;
// So many may wait for the end, where a line tells of each that was killed.
constexpr std::size_t most_dead_workers = 16;
// A job that forks faster than this is looked at again at the next turn: the drain thread has the
// job's own windows to write.
constexpr std::size_t most_at_once = 256;

bool is_dead_worker(const Peer& peer) { return !peer.alive && peer.trace_pid != peer.rank; }

// False where the ring has to stay: `traceagent recover` says why.
bool write_what_is_left(const Peer& peer) {
  if (peer.finished) return true;
  const drain::Recovered recovered = drain::recover_ring(peer.ring_path);
  say_detail("a worker of rank " + std::to_string(peer.rank) + " died: recovered " +
             std::to_string(recovered.events()) + " of its events from memory");
  return recovered.problems.empty();
}

void remove(const std::string& ring_path) {
  const std::string list = ring::written_files_path(ring_path);
  unlink(ring_path.c_str());
  unlink(list.c_str());
}

void tidy(const Agent& agent) {
  std::string unread;
  const std::vector<Peer> peers = look_at_peers(agent.run_folder, agent.ring.path, unread);
  const auto dead =
      static_cast<std::size_t>(std::count_if(peers.begin(), peers.end(), is_dead_worker));
  if (dead <= most_dead_workers) return;
  // Whoever merges has to look for their files in the output folder: their lists are gone.
  be_first(agent.run_folder, tidied_topic);
  std::size_t removed = 0;
  for (const Peer& peer : peers) {
    if (!is_dead_worker(peer) || !write_what_is_left(peer)) continue;
    remove(peer.ring_path);
    if (++removed == most_at_once) return;
  }
}

}  // namespace

void DeadWorkers::look(Agent& agent) noexcept try {
  // One for the node: who merges at the end recovers too, and does so in this same thread.
  if (!agent.speaks_for_node() || agent.run_folder.path.empty()) return;
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + look_period_ns;
  if (ring_paths(agent.run_folder).size() > most_dead_workers) tidy(agent);
} catch (...) {
  // Out of memory: at the next turn, or at the end.
}

}  // namespace traceagent::process
