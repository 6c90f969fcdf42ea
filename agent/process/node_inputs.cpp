#include "agent/process/node_inputs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "agent/drain/recover_ring.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"
#include "agent/ring/written_files.hpp"
#include "config/command_words.hpp"

namespace traceagent::process {
namespace {

void add_files(NodeInputs& inputs, std::int64_t rank, std::vector<std::string> files,
               bool is_elsewhere) {
  if (!files.empty()) inputs.ranks.insert(rank);
  for (std::string& file : files) {
    if (!inputs.known.insert(file).second) continue;
    if (is_elsewhere) inputs.elsewhere.push_back(file);
    inputs.files.push_back(std::move(file));
  }
}

// A job may kill workers by the hundred: of a rank's one line tells.
struct DeadWorkersOfRank {
  std::uint64_t workers = 0, events = 0;
};
using DeadOfRanks = std::map<std::int64_t, DeadWorkersOfRank>;

void say_dead_workers(const DeadOfRanks& ranks) {
  for (const auto& [rank, dead] : ranks) {
    if (dead.workers == 0) continue;
    const bool is_one = dead.workers == 1;
    say_result((is_one ? "a worker" : std::to_string(dead.workers) + " workers") + " of rank " +
               std::to_string(rank) + " died: recovered " + std::to_string(dead.events) + " of " +
               (is_one ? "its" : "their") + " events from memory");
  }
}

std::string in_words(const Peer& peer) {
  return trace::process_in_words(peer.rank, peer.is_rank());
}

// False where its ring holds what could not be written, and has to stay.
bool recover(Agent& agent, const Peer& peer, DeadOfRanks& dead_workers) {
  if (is_kept(agent, peer.ring_path)) return false;
  const drain::Recovered recovered = drain::recover_ring(peer.ring_path);
  for (const std::string& problem : recovered.problems) say_problem(problem);
  for (const std::string& note : recovered.notes) say_problem(note);
  const std::string died = in_words(peer) + " died: ";
  if (!peer.finished && !peer.is_rank()) {
    // None: an earlier merge may have them, and has said so.
    DeadWorkersOfRank& dead = dead_workers[peer.rank];
    dead.workers += recovered.events() != 0 ? 1 : 0;
    dead.events += recovered.events();
  } else if (!peer.finished) {
    say_result(died + "recovered " + std::to_string(recovered.events()) +
               " of its events from memory");
  } else if (recovered.queued > 0) {
    say_detail(died + std::to_string(recovered.queued) + " of its files queued for upload");
  }
  if (recovered.problems.empty()) return true;
  agent.kept_rings.push_back(peer.ring_path);
  say_problem(in_words(peer) + ": what could not be written stays in memory: traceagent recover " +
              config::shell_word(peer.ring_path));
  return false;
}

constexpr const char* could_not_write = "could not write all: traceagent recover";

// "" where its ring may go; else why it stays. Of what it could not write it has told itself.
std::string keep_or_recover(Agent& agent, const Peer& peer, DeadOfRanks& dead_workers) {
  if (peer.is_private) return {};
  if (peer.keeps_ring()) {
    if (!is_kept(agent, peer.ring_path)) agent.kept_rings.push_back(peer.ring_path);
    return could_not_write;
  }
  // What it queues itself from now on may come after the end of the run, of which whoever merges
  // tells the queue. Each file is there once.
  if (peer.finished && peer.alive) drain::queue_waiting_uploads(peer.ring_path);
  const bool died = !peer.alive && !(peer.finished && peer.has_queued_all());
  return died && !recover(agent, peer, dead_workers) ? "was killed: traceagent recover" : "";
}

void add_kept(NodeInputs& inputs, std::string who, std::string why) {
  if (!why.empty()) inputs.kept.push_back({std::move(who), std::move(why)});
}

}  // namespace

bool is_kept(const Agent& agent, const std::string& ring_path) {
  const std::vector<std::string>& kept = agent.kept_rings;
  return std::find(kept.begin(), kept.end(), ring_path) != kept.end();
}

void say_unread(const NodeView& node) {
  say_problem(
      "ring.folder: " + node.problem +
      ": what a dead process left there is not in the node's file: see `traceagent recover`");
}

NodeInputs gather_inputs(Agent& agent, const NodeView& node) {
  NodeInputs inputs;
  const auto add = [&](std::int64_t rank, std::vector<std::string> files, bool is_elsewhere) {
    forget_removed(agent, files);
    add_files(inputs, rank, std::move(files), is_elsewhere);
  };
  inputs.may_lack_files = has_been(agent.run_folder, tidied_topic) ||
                          !agent.written_files.is_whole() || !agent.workers_files.is_whole();
  add(agent.identity.rank, agent.written_files.paths(), false);
  // Others' may be gone because a node file holds them.
  inputs.lost_all = !agent.written_files.empty() && inputs.files.empty();
  add(agent.identity.rank, agent.workers_files.paths(), true);
  if (is_kept(agent, agent.ring.path)) {
    add_kept(inputs, "rank " + std::to_string(agent.identity.rank), could_not_write);
    inputs.cycles_in_memory += ring::unwritten_windows(agent.ring.ring);
  }
  DeadOfRanks dead_workers;
  for (const Peer& peer : node.peers) {
    add_kept(inputs, in_words(peer), keep_or_recover(agent, peer, dead_workers));
    if (peer.keeps_ring()) inputs.cycles_in_memory += peer.unwritten;
    if (!peer.gone()) {
      (peer.is_private ? inputs.unfinished_private : inputs.unfinished).push_back(in_words(peer));
    }
    bool is_whole = true;
    add(peer.rank, ring::written_files(peer.ring_path, &is_whole),
        peer.host != agent.identity.host);
    inputs.may_lack_files |= !is_whole || !peer.lists_all;
  }
  say_dead_workers(dead_workers);
  if (!node.problem.empty()) {
    inputs.may_lack_files = true;
    say_unread(node);
  }
  return inputs;
}

void add_files_of_folder(const Agent& agent, NodeInputs& inputs) {
  NodeRankFiles folder = node_rank_files(agent);
  folder.look();
  for (const std::string& path : drain::indexed_files(agent.ring.ring)) folder.look_at(path);
  for (const RunFile& file : folder.files()) add_files(inputs, file.rank, {file.path}, true);
}

bool lacks_ranks(const Agent& agent, const NodeInputs& inputs) {
  return std::ssize(inputs.ranks) < agent.identity.local_world_size;
}

void recover_dead(Agent& agent, const NodeView& node) {
  DeadOfRanks dead_workers;
  for (const Peer& peer : node.peers) keep_or_recover(agent, peer, dead_workers);
  say_dead_workers(dead_workers);
}

}  // namespace traceagent::process
