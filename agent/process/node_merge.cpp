#include "agent/process/node_merge.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/exit.hpp"
#include "agent/process/node_file.hpp"
#include "agent/process/node_inputs.hpp"
#include "agent/process/node_view.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/private_workers.hpp"
#include "agent/process/spared.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/merge.hpp"
#include "config/command_words.hpp"

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
  const std::optional<RunFile> there = run_file(node.path, agent.identity.run_key);
  if (!there || there->base_ns < older_run_until_ns(agent.run_folder)) return false;
  struct stat merged {};
  struct stat own {};
  // What cannot be looked at may be older: merging once more loses nothing.
  if (stat(node.path.c_str(), &merged) != 0) return errno != ENOENT;
  if (stat(agent.written_files.paths().back().c_str(), &own) != 0) return errno != ENOENT;
  const auto time = [](const struct stat& facts) {
    return std::pair(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  };
  return time(merged) < time(own);
}

// By who has merged, with all of the run, because this process had said `finished`.
bool is_removed(const std::string& ring_path) {
  return !ring_path.empty() && access(ring_path.c_str(), F_OK) != 0 && errno == ENOENT;
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
  // Where ours is gone the file that is older is that of an earlier run, and the merge has another
  // name; this process lost its core meanwhile.
  const bool is_elsewhere =
      node_zero_is_elsewhere(agent) && (is_removed(agent.ring.path) || !has_older_node_file(agent));
  // It may have begun here while this one waited: its ring must stay, and the merge is its own.
  node = look_at_node(agent);
  if (node.has_living_zero() || !node.all_gone()) return Part::none;
  if (!is_elsewhere || has_seen_node_zero(node)) return Part::merge;
  if (node.problem.empty()) return Part::leave;
  // What cannot be read may be the ring of local rank zero, which runs here and merges.
  say_unread(node);
  return Part::none;
}

// What cannot be read stays, for who can.
void clean_up(Agent& agent, const NodeView& node) {
  say_private_workers_killed(private_workers_killed(agent));
  finish_queue(agent);  // of what waits nobody knows once the lists are gone
  if (!node.problem.empty()) return;
  std::vector<std::string> rings{agent.ring.path};
  for (const Peer& peer : node.peers) rings.push_back(peer.ring_path);
  const Spared spared(agent.run_folder, std::move(rings), agent.kept_rings, agent.pid);
  const std::string problem = remove_run_folder(agent.run_folder, &spared);
  if (!problem.empty()) say_problem(problem);
}

// A rank that began, and has perhaps ended, while the others' files were merged.
bool has_peer_not_in(const NodeView& before, const NodeView& now) {
  return std::any_of(now.peers.begin(), now.peers.end(), [&](const Peer& peer) {
    return std::none_of(before.peers.begin(), before.peers.end(),
                        [&](const Peer& known) { return known.ring_path == peer.ring_path; });
  });
}

// With a node's file the index is looked at once more, when all is saved; here it would not be.
void join_index(const Agent& agent) {
  const std::string problem = drain::index_joined(agent.ring.ring);
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
}

// A rank that the merge did not wait for ends: the last of those merges all again. So it does, once
// more each time, for who began and ended meanwhile: that one found the merge taken. Each says
// `finished` before it looks for the notes, and here they are removed before the rings are looked
// at: one of the two sees the other.
void merge_again(Agent& agent) {
  NodeView node = look_at_node(agent);
  while (node.all_gone() && be_first(agent.run_folder, second_merge_topic)) {
    RankFilesHeld held(agent);
    NodeInputs inputs = gather_inputs(agent, node);
    if (!write_node_file(agent, inputs, held)) join_index(agent);
    clean_up(agent, node);
    NodeView now = look_at_node(agent);
    if (!has_peer_not_in(node, now)) return;
    node = std::move(now);
    if (node.all_gone()) be_first(agent.run_folder, left_out_topic);
  }
}

void merge_first(Agent& agent, const NodeView& node) {
  RankFilesHeld held(agent);
  NodeInputs inputs = gather_inputs(agent, node);
  if (!write_node_file(agent, inputs, held)) join_index(agent);
  NodeView now = look_at_node(agent);
  if (inputs.all_ended() && !has_peer_not_in(node, now)) {
    clean_up(agent, node);
    now = look_at_node(agent);
    if (!has_peer_not_in(node, now) || !now.all_gone()) return;
  }
  be_first(agent.run_folder, left_out_topic);
  merge_again(agent);  // it may have ended just before it could see that note
}

// The merge is made elsewhere, of the files that are in the output folder by then.
void leave(Agent& agent, const NodeView& node) {
  recover_dead(agent, node);
  clean_up(agent, node);
}

trace::Losses losses_of(const WrittenTotals& written) {
  trace::MergeReport report;
  for (std::size_t i = 0; i < written.dropped.size(); ++i) {
    if (written.dropped[i] != 0) report.dropped[ring::drop_cause_names[i]] = written.dropped[i];
  }
  return trace::losses_of(report);
}

// Nobody sees the files of all of the node's ranks: each speaks for itself, where it has lost
// anything, and one says where they are.
void say_own_files(const Agent& agent) {
  const WrittenTotals& written = agent.written;
  const trace::Losses losses = losses_of(written);
  const bool has_lost =
      losses.events != 0 || !losses.others.empty() || is_kept(agent, agent.ring.path);
  if (written.files == 0 || !(agent.speaks_for_node() || has_lost)) return;
  say_result(
      drain::output_folder(agent.ring.ring) + ": rank " + std::to_string(agent.identity.rank) +
      ": " + std::to_string(written.files) + (written.files == 1 ? " file" : " files") +
      " written, " + std::to_string(written.events) +
      (written.events == 1 ? " event, " : " events, ") + std::to_string(losses.events) + " lost" +
      (losses.causes.empty() ? "" : " (" + losses.causes + ")") +
      (losses.others.empty() ? "" : "; also " + losses.others) +
      (agent.files_removed == 0
           ? ""
           : "; " + std::to_string(agent.files_removed) + " of the files were removed since") +
      (!is_kept(agent, agent.ring.path)
           ? ""
           : "; " + std::to_string(ring::unwritten_windows(agent.ring.ring)) +
                 " of its cycles wait in memory: traceagent recover " +
                 config::shell_word(agent.run_folder.path)));
}

// Of a rank that fails the launcher must hear soon: it ends the others, which wait for it in a
// collective. What they write until then is added by the last of them. Who ends by a signal has
// exit.timeout for the merge too, and others may not have been told to end.
std::uint64_t longest_wait_ns(const Agent& agent) {
  constexpr std::uint64_t of_failure_ns = 2'000'000'000;
  const std::uint64_t allowed_ns = agent.options.merge_timeout;
  if (ends_by_signal()) {
    return std::min({allowed_ns, of_failure_ns, agent.options.exit_timeout / 2});
  }
  return ends_with_failure() ? std::min(allowed_ns, of_failure_ns) : allowed_ns;
}

}  // namespace

void finish_node(Agent& agent) {
  const bool wants_merge =
      agent.options.merge_mode != "off" && agent.options.output_merged.has_value();
  if (!wants_merge) {
    say_own_files(agent);
    if (agent.speaks_for_node()) {
      say_private_workers_killed_once(agent, private_workers_killed(agent));
    }
    join_index(agent);
    finish_queue(agent);
    if (!is_kept(agent, agent.ring.path)) remove_ring(agent);
    return;
  }
  if (has_been(agent.run_folder, left_out_topic)) return merge_again(agent);
  // As long to wait for a rank that never comes, and as long again for the merge itself.
  agent.drain.allow(2 * agent.options.merge_timeout + agent.options.exit_timeout);
  NodeView node =
      is_node_zero(agent) ? wait_for_node(agent, longest_wait_ns(agent)) : look_at_node(agent);
  const Part part = own_part(agent, node);
  if (part == Part::merge_again) return merge_again(agent);
  if (part == Part::none || !be_first(agent.run_folder, merge_topic)) return;
  if (part == Part::leave) return leave(agent, node);
  merge_first(agent, node);
}

}  // namespace traceagent::process
