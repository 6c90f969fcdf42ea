#include "agent/process/node_merge.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "agent/drain/file_names.hpp"
#include "agent/drain/recover_ring.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/governor.hpp"
#include "agent/process/included_traces.hpp"
#include "agent/process/node_view.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/spared.hpp"
#include "agent/process/uploads.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/merge.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

bool is_node_zero(const Agent& agent) {
  return agent.identity.local_rank == 0 && agent.trace_pid == agent.identity.rank;
}

bool has_seen_node_zero(const NodeView& node) {
  return std::any_of(node.peers.begin(), node.peers.end(),
                     [](const Peer& peer) { return peer.local_rank == 0; });
}

// merge_again: who merged died over it. leave: the run's folder goes, the merge is another's.
enum class Part { none, merge, merge_again, leave };

// A merge has been, but before this process had written its file: it was made by ranks that saw no
// more of the node, and what it lacks is to be added.
bool has_older_node_file(const Agent& agent) {
  const drain::NamedFile node = drain::node_file_name(agent.ring.ring);
  if (!node.problem.empty() || agent.written_files.empty()) return false;
  if (!run_file(node.path, agent.identity.run_key)) return false;
  struct stat merged {};
  struct stat own {};
  if (stat(node.path.c_str(), &merged) != 0) return false;
  if (stat(agent.written_files.back().c_str(), &own) != 0) return false;
  const auto time = [](const struct stat& facts) {
    return std::pair(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  };
  return time(merged) < time(own);
}

void say_unread(const NodeView& node) {
  say_problem(
      "ring.folder: " + node.problem +
      ": what a dead process left there is not in the node's file: see `traceagent recover`");
}

// Local rank zero merges if it lives; else the last one out. Each process says `finished` before it
// looks, so of the last two at least one sees the other gone; be_first() lets only one through.
Part own_part(const Agent& agent, NodeView& node) {
  if (is_node_zero(agent)) return Part::merge;
  if (node.has_living_zero() || !node.all_gone()) return Part::none;
  // A peer that lives and has finished may be the one that merges.
  if (has_been(agent.run_folder, merge_topic)) {
    return node.any_alive() ? Part::none : Part::merge_again;
  }
  if (has_seen_node_zero(node) || agent.trace_pid != agent.identity.rank) return Part::merge;
  // Its file may also be one that was recovered, by a merge that came before this rank began.
  const bool is_elsewhere = node_zero_is_elsewhere(agent) && !has_older_node_file(agent);
  // It may have begun here while this one waited: its ring must stay, and the merge is its own.
  node = look_at_node(agent);
  if (node.has_living_zero() || !node.all_gone()) return Part::none;
  if (!is_elsewhere || has_seen_node_zero(node)) return Part::merge;
  if (node.problem.empty()) return Part::leave;
  // What cannot be read may be the ring of local rank zero, which runs here and merges.
  say_unread(node);
  return Part::none;
}

struct Inputs {
  std::vector<std::string> files;
  std::set<std::int64_t> ranks;
  std::vector<std::int64_t> unfinished;  // alive still, or dead with nothing to recover
  bool may_lack_files = false;           // somebody's list is not whole
  bool lost_all = false;                 // all of this process's own are gone
  std::vector<std::int64_t> kept;        // dead, and their rings hold what could not be written
};

void add_files(Inputs& inputs, std::int64_t rank, std::vector<std::string> files) {
  if (!files.empty()) inputs.ranks.insert(rank);
  for (std::string& file : files) {
    if (std::find(inputs.files.begin(), inputs.files.end(), file) == inputs.files.end()) {
      inputs.files.push_back(std::move(file));
    }
  }
}

// False where its ring holds what could not be written, and has to stay.
bool recover(Agent& agent, const Peer& peer) {
  std::vector<std::string>& kept = agent.kept_rings;
  if (std::find(kept.begin(), kept.end(), peer.ring_path) != kept.end()) return false;
  const drain::Recovered recovered = drain::recover_ring(peer.ring_path);
  for (const std::string& problem : recovered.problems) say_problem(problem);
  for (const std::string& note : recovered.notes) say_problem(note);
  say_result("rank " + std::to_string(peer.rank) + " died: recovered " +
             std::to_string(recovered.events()) + " of its events from memory");
  if (recovered.problems.empty()) return true;
  kept.push_back(peer.ring_path);
  say_problem("rank " + std::to_string(peer.rank) +
              ": what could not be written stays in memory: traceagent recover " + peer.ring_path);
  return false;
}

bool died_unwritten(const Peer& peer) noexcept { return !peer.finished && !peer.alive; }

// Call with the rank files held.
Inputs gather(Agent& agent, const NodeView& node) {
  Inputs inputs;
  const auto add = [&](std::int64_t rank, std::vector<std::string> files) {
    forget_removed(agent, files);
    add_files(inputs, rank, std::move(files));
  };
  inputs.may_lack_files = has_been(agent.run_folder, tidied_topic);
  add(agent.identity.rank, agent.written_files);
  // Others' may be gone because a node file holds them.
  inputs.lost_all = !agent.written_files.empty() && inputs.files.empty();
  add(agent.identity.rank, agent.workers_files);
  for (const Peer& peer : node.peers) {
    if (died_unwritten(peer) && !recover(agent, peer)) inputs.kept.push_back(peer.rank);
    if (!peer.finished && peer.alive) inputs.unfinished.push_back(peer.rank);
    bool is_whole = true;
    add(peer.rank, ring::written_files(peer.ring_path, &is_whole));
    inputs.may_lack_files |= !is_whole || !peer.lists_all;
  }
  if (!node.problem.empty()) {
    inputs.may_lack_files = true;
    say_unread(node);
  }
  return inputs;
}

// What cannot be read stays, for who can.
void clean_up(const Agent& agent, const NodeView& node) {
  if (!node.problem.empty()) return;
  std::vector<std::string> rings{agent.ring.path};
  for (const Peer& peer : node.peers) rings.push_back(peer.ring_path);
  const Spared spared(agent.run_folder, std::move(rings), agent.kept_rings, agent.pid);
  const std::string problem = remove_run_folder(agent.run_folder, &spared);
  if (!problem.empty()) say_problem(problem);
}

std::vector<std::int64_t> missing_ranks(const Agent& agent, const Inputs& inputs) {
  std::vector<std::int64_t> missing;
  const Identity& identity = agent.identity;
  // Launchers number a node's ranks in a row; where one does not, only the count is known.
  const std::int64_t first = identity.rank - identity.local_rank;
  for (std::int64_t i = 0; i < identity.local_world_size; ++i) {
    if (inputs.ranks.count(first + i) == 0) missing.push_back(first + i);
  }
  return missing;
}

std::string list(const std::vector<std::int64_t>& ranks) {
  std::string text;
  for (const std::int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string summary(const trace::MergeReport& report, const std::string& path) {
  const trace::Losses losses = trace::losses_of(report);
  return path + ": " + std::to_string(report.ranks.size()) +
         (report.ranks.size() == 1 ? " rank, " : " ranks, ") + std::to_string(report.events) +
         " events, " + std::to_string(losses.events) + " lost" +
         (losses.causes.empty() ? "" : " (" + losses.causes + ")") +
         (losses.others.empty() ? "" : "; also " + losses.others);
}

// What no ring tells of: files of ranks in other containers, of processes of this run that ended
// before this one began, and of ranks whose list found no room.
void add_files_of_folder(const Agent& agent, Inputs& inputs) {
  NodeRankFiles folder = node_rank_files(agent);
  for (const RunFile& file : folder.look()) add_files(inputs, file.rank, {file.path});
}

void say_missing(const Inputs& inputs, const std::vector<std::int64_t>& missing,
                 const std::string& path) {
  if (!missing.empty()) {
    say_result(path + ": nothing from rank " + list(missing));
  }
  if (!inputs.unfinished.empty()) {
    say_result(path + ": rank " + list(inputs.unfinished) +
               " still runs: it will be added when it ends");
  }
}

// Mostly for one reason: the first one is told. True if there are any.
bool say_bad_inputs(const trace::MergeReport& report) {
  std::size_t bad = 0;
  std::string first;
  for (const trace::MergedInput& input : report.inputs) {
    if (input.problem.empty()) continue;
    if (bad++ == 0) first = input.problem;
  }
  if (bad > 1) first += "; also " + std::to_string(bad - 1) + " other files";
  if (bad > 0) say_problem(first);
  return bad > 0;
}

// About what the node's file will have; for each input the lines that say whose it is.
std::uint64_t bytes_of(const std::vector<std::string>& files) noexcept {
  constexpr std::uint64_t about_an_input = 4096;
  std::uint64_t sum = 0;
  for (const std::string& file : files) {
    struct stat facts {};
    if (stat(file.c_str(), &facts) == 0) sum += static_cast<std::uint64_t>(facts.st_size);
    sum += about_an_input;
  }
  return sum;
}

// False, and said, where budget.disk has no room for it.
bool has_room_for(const Agent& agent, const Inputs& inputs, const std::string& path) {
  if (bytes_of(inputs.files) <= disk_room(agent)) return true;
  say_problem("budget.disk: " + config::show_bytes(agent.options.budget_disk) + ": " + path +
              ": not merged, since it would exceed it: traceagent merge -o " + path + " " +
              inputs.files.front().substr(0, inputs.files.front().rfind('/') + 1));
  return false;
}

void say_lost(const std::string& path) {
  say_problem("output.keep: 0: " + path +
              ": this rank's files were removed before it could be made of them: keep: 1 keeps the "
              "newest, and output.remote has them all");
}

void merge(Agent& agent, Inputs& inputs, RankFilesHeld& held) {
  drain::NamedFile node = drain::node_file_name(agent.ring.ring);
  if (!node.problem.empty()) return say_problem("output.merged: " + node.problem);
  std::optional<RunFile> there = run_file(node.path, agent.identity.run_key);
  if (there && there->base_ns < older_run_until_ns(agent.run_folder)) {
    node.path = drain::with_pid(node.path, static_cast<std::uint32_t>(agent.pid));
    there = run_file(node.path, agent.identity.run_key);
  }
  if (there && there->node_rank != agent.identity.node_rank) {
    return say_problem("output.merged: " + *agent.options.output_merged + ": " + node.path +
                       ": node " + std::to_string(there->node_rank) +
                       " of this run has made it already: put {node_rank} into the name; this "
                       "node's rank files are whole");
  }
  // A node file of this run was made by one who saw less: this one holds all that it holds.
  const bool is_there = there.has_value();
  if (is_there || inputs.may_lack_files || !missing_ranks(agent, inputs).empty()) {
    add_files_of_folder(agent, inputs);
  }
  if (inputs.lost_all) say_lost(node.path);
  if (inputs.files.empty()) return;
  // It may be all that is left of what output.keep has removed.
  if (is_there && agent.options.output_keep >= 0) inputs.files.push_back(node.path);
  if (!has_room_for(agent, inputs, node.path)) return;
  trace::MergeOptions options;
  options.gzip = agent.options.output_gzip;
  options.overwrite = agent.options.output_overwrite || is_there;
  options.missing_ranks = missing_ranks(agent, inputs);
  for (const std::int64_t rank : inputs.unfinished) {
    options.unfinished.push_back({"rank " + std::to_string(rank), "still runs"});
  }
  for (const std::int64_t rank : inputs.kept) {
    options.unfinished.push_back(
        {"rank " + std::to_string(rank), "was killed: traceagent recover"});
  }
  options.mix_runs = true;  // they were chosen by their run, and nobody is there to be asked
  const trace::MergeReport report = trace::merge(inputs.files, node.path, options);
  const bool is_told = say_bad_inputs(report);
  if (!report.problem.empty()) {
    // Of inputs that are all bad it says that there are none.
    if (!is_told) say_problem(report.problem);
    return;
  }
  const std::string index_problem = drain::index_merged(agent.ring.ring, node.path, report.events);
  if (!index_problem.empty() && is_spokesman(agent, "index")) say_problem(index_problem);
  say_result(summary(report, node.path));
  say_missing(inputs, report.missing_ranks, node.path);
  include_traces(agent, node.path);
  if (inputs.unfinished.empty() && inputs.kept.empty() && !is_told) {
    after_node_file(agent, node.path, inputs.files, held);
  }
}

// A rank that began, and has perhaps ended, while the others' files were merged.
bool has_peer_not_in(const NodeView& before, const NodeView& now) {
  return std::any_of(now.peers.begin(), now.peers.end(), [&](const Peer& peer) {
    return std::none_of(before.peers.begin(), before.peers.end(),
                        [&](const Peer& known) { return known.ring_path == peer.ring_path; });
  });
}

// A rank that the merge did not wait for ends: the last of those merges all again. So it does, once
// more each time, for who began and ended meanwhile: that one found the merge taken. Each says
// `finished` before it looks for the notes, and here they are removed before the rings are looked
// at: one of the two sees the other.
void merge_again(Agent& agent) {
  NodeView node = look_at_node(agent);
  while (node.all_gone() && be_first(agent.run_folder, second_merge_topic)) {
    RankFilesHeld held(agent);
    Inputs inputs = gather(agent, node);
    merge(agent, inputs, held);
    clean_up(agent, node);
    NodeView now = look_at_node(agent);
    if (!has_peer_not_in(node, now)) return;
    node = std::move(now);
    if (node.all_gone()) be_first(agent.run_folder, left_out_topic);
  }
}

void merge_first(Agent& agent, const NodeView& node) {
  RankFilesHeld held(agent);
  Inputs inputs = gather(agent, node);
  merge(agent, inputs, held);
  NodeView now = look_at_node(agent);
  if (inputs.unfinished.empty() && !has_peer_not_in(node, now)) {
    clean_up(agent, node);
    now = look_at_node(agent);
    if (!has_peer_not_in(node, now) || !now.all_gone()) return;
  }
  be_first(agent.run_folder, left_out_topic);
  merge_again(agent);  // it may have ended just before it could see that note
}

// The merge is made elsewhere, of the files that are in the output folder by then.
void leave(Agent& agent, const NodeView& node) {
  for (const Peer& peer : node.peers) {
    if (died_unwritten(peer)) recover(agent, peer);
  }
  clean_up(agent, node);
}

void say_own_files(const Agent& agent) {
  for (const std::string& file : agent.written_files) say_result(file);
}

}  // namespace

void finish_node(Agent& agent) {
  const bool wants_merge =
      agent.options.merge_mode != "off" && agent.options.output_merged.has_value();
  if (!wants_merge) {
    if (agent.speaks_for_node()) say_own_files(agent);
    return remove_ring(agent);
  }
  if (has_been(agent.run_folder, left_out_topic)) return merge_again(agent);
  // As long to wait for a rank that never comes, and as long again for the merge itself.
  agent.drain.allow(2 * agent.options.merge_timeout + agent.options.exit_timeout);
  NodeView node = is_node_zero(agent) ? wait_for_node(agent) : look_at_node(agent);
  const Part part = own_part(agent, node);
  if (part == Part::merge_again) return merge_again(agent);
  if (part == Part::none || !be_first(agent.run_folder, merge_topic)) return;
  if (part == Part::leave) return leave(agent, node);
  merge_first(agent, node);
}

}  // namespace traceagent::process
