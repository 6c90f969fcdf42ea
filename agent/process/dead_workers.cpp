#include "agent/process/dead_workers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <optional>

#include "agent/drain/recover_ring.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/peers.hpp"
#include "agent/process/run_folder.hpp"
#include "agent/ring/stillborn_ring.hpp"
#include "agent/ring/written_files.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000, second = 1000 * ms;
constexpr std::uint64_t look_period_ns = 5 * second;
// While workers die.
constexpr std::uint64_t short_look_period_ns = second;
constexpr std::uint64_t retry_period_ns = 60 * second;
// So many may wait for the end, where a line tells of each that was killed, if their rings take no
// more memory than one that a process has for itself.
constexpr std::size_t most_waiting_rings = 16;
// Rings of which it was said why they could not be written. Of the others the end tells, where they
// still could not.
constexpr std::size_t most_told_rings = 64;
// At a turn: the drain thread has the job's own windows to write, and the job may end.
constexpr std::uint64_t patience_ns = 50 * ms;
constexpr std::uint64_t pause_ns = 200 * ms;

bool is_dead_worker(const Peer& peer) { return !peer.alive && !peer.is_rank(); }

void say(const Peer& peer, const drain::Recovered& recovered) {
  say_detail("a worker of rank " + std::to_string(peer.rank) + " died: recovered " +
             std::to_string(recovered.events()) + " of its events from memory");
  for (const std::string& problem : recovered.problems) say_detail(problem);
  for (const std::string& note : recovered.notes) say_problem(note);
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

bool DeadWorkers::may_wait(const Agent& agent, const std::string& ring_path) noexcept {
  struct stat facts {};
  if (stat(ring_path.c_str(), &facts) != 0) return true;
  waiting_bytes_ += static_cast<std::uint64_t>(facts.st_blocks) * 512;
  return ++waiting_rings_ <= most_waiting_rings && waiting_bytes_ <= agent.options.ring_size;
}

bool DeadWorkers::is_told_now(const std::string& ring_path) {
  return told_.size() < most_told_rings && told_.insert(ring_path).second;
}

// False where the ring has to stay.
bool DeadWorkers::write_what_is_left(Agent& agent, const Peer& peer) {
  if (peer.finished && peer.unwritten == 0 && peer.has_queued_all()) return true;
  const drain::Recovered recovered = drain::recover_ring(peer.ring_path, false, &agent.index_queue);
  const bool may_go = recovered.problems.empty();
  if (may_go || is_told_now(peer.ring_path)) say(peer, recovered);
  return may_go;
}

void DeadWorkers::tidy(Agent& agent, const Peer& peer) {
  // Another who merges has to look for their files in the output folder.
  be_first(agent.run_folder, tidied_topic);
  if (!has_been(agent.run_folder, tidied_topic)) return;
  has_tidied_ = true;
  if (!write_what_is_left(agent, peer)) {
    left_.insert(peer.ring_path);
    return;
  }
  take_over_list(agent, peer.ring_path);
  remove(peer.ring_path);
}

void DeadWorkers::look_at(Agent& agent, const std::string& ring_path) {
  std::string unread;
  const std::optional<Peer> peer = look_at_peer(ring_path, unread);
  if (!peer) {
    if (unread.empty() && ring::is_stillborn(ring_path, std::time(nullptr))) {
      remove(ring_path);
    }
  } else if (is_dead_worker(*peer) && !may_wait(agent, ring_path)) {
    tidy(agent, *peer);
  }
}

// False where the time was too short for all: the next turn goes on behind the last ring, so that
// the first ones, looked at time and again, do not keep it from the others.
bool DeadWorkers::look_on(Agent& agent, std::uint64_t until_ns) {
  for (const std::string& path : ring_paths(agent.run_folder)) {
    if (path <= last_looked_at_) continue;
    if (path != agent.ring.path && left_.count(path) == 0) look_at(agent, path);
    last_looked_at_ = path;
    if (event::clock_ns(CLOCK_MONOTONIC) > until_ns) return false;
  }
  return true;
}

void DeadWorkers::look(Agent& agent) noexcept try {
  // One for the node: who merges at the end recovers too, and does so in this same thread.
  if (!agent.speaks_for_node() || agent.run_folder.path.empty()) return;
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (now_ns < next_look_ns_) return;
  if (now_ns >= next_retry_ns_) {
    left_.clear();
    next_retry_ns_ = now_ns + retry_period_ns;
  }
  next_look_ns_ = now_ns + look_period_ns;
  const bool has_seen_all = look_on(agent, now_ns + patience_ns);
  const std::uint64_t end_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (!has_seen_all) {
    next_look_ns_ = end_ns + pause_ns;
    return;
  }
  next_look_ns_ = end_ns + (has_tidied_ ? short_look_period_ns : look_period_ns);
  last_looked_at_.clear();
  waiting_rings_ = 0;
  waiting_bytes_ = 0;
  has_tidied_ = false;
} catch (...) {
  // Out of memory: at the next turn, or at the end.
}

}  // namespace traceagent::process
