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
// At a turn: the drain thread has the job's own windows to write, and the job may end.
constexpr std::uint64_t patience_ns = 50'000'000;
constexpr std::uint64_t pause_ns = 500'000'000;

bool is_dead_worker(const Peer& peer) { return !peer.alive && peer.trace_pid != peer.rank; }

// False where the ring has to stay.
bool write_what_is_left(Agent& agent, const Peer& peer) {
  if (peer.finished && !peer.has_unwritten && peer.has_queued_all()) return true;
  const drain::Recovered recovered = drain::recover_ring(peer.ring_path, false, &agent.index_queue);
  say_detail("a worker of rank " + std::to_string(peer.rank) + " died: recovered " +
             std::to_string(recovered.events()) + " of its events from memory");
  for (const std::string& note : recovered.notes) say_problem(note);
  return recovered.problems.empty();
}

void remove(const std::string& ring_path) {
  const std::string list = ring::written_files_path(ring_path);
  unlink(ring_path.c_str());
  unlink(list.c_str());
}

// The list goes with the ring: who merges here keeps it in mind.
void take_over_list(Agent& agent, const std::string& ring_path) {
  for (const std::string& file : ring::written_files(ring_path)) agent.workers_files.add(file);
}

}  // namespace

// True where the time was too short for all.
bool DeadWorkers::tidy(Agent& agent, std::uint64_t until_ns) {
  std::string unread;
  std::vector<Peer> peers = look_at_peers(agent.run_folder, agent.ring.path, unread);
  std::erase_if(peers, [this](const Peer& peer) {
    return !is_dead_worker(peer) || left_.count(peer.ring_path) != 0;
  });
  if (peers.size() <= most_dead_workers) return false;
  // Another who merges has to look for their files in the output folder.
  be_first(agent.run_folder, tidied_topic);
  if (!has_been(agent.run_folder, tidied_topic)) return false;
  for (const Peer& peer : peers) {
    if (event::clock_ns(CLOCK_MONOTONIC) > until_ns) return true;
    if (write_what_is_left(agent, peer)) {
      take_over_list(agent, peer.ring_path);
      remove(peer.ring_path);
    } else {
      left_.insert(peer.ring_path);
    }
  }
  return false;
}

void DeadWorkers::look(Agent& agent) noexcept try {
  // One for the node: who merges at the end recovers too, and does so in this same thread.
  if (!agent.speaks_for_node() || agent.run_folder.path.empty()) return;
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + look_period_ns;
  if (ring_paths(agent.run_folder).size() <= most_dead_workers) return;
  if (tidy(agent, now_ns + patience_ns)) next_look_ns_ = now_ns + pause_ns;
} catch (...) {
  // Out of memory: at the next turn, or at the end.
}

}  // namespace traceagent::process
