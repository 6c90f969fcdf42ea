#include "agent/process/node_merge.hpp"

#include <algorithm>
#include <set>

#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/peers.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t look_period_ns = 50 * ms;
// A peer that has no ring by now makes no hooked calls, or starts later than the others end.
constexpr std::uint64_t longest_wait_for_unseen_ns = 2000 * ms;

std::uint64_t now_ns() noexcept { return event::clock_ns(CLOCK_MONOTONIC); }

void pause(std::uint64_t ns) noexcept {
  const timespec duration{0, static_cast<long>(ns)};
  nanosleep(&duration, nullptr);
}

bool all_gone(const std::vector<Peer>& peers) {
  return std::all_of(peers.begin(), peers.end(), [](const Peer& peer) { return peer.gone(); });
}

std::size_t ranks_seen(const std::vector<Peer>& peers, std::int64_t own_rank) {
  std::set<std::int64_t> ranks{own_rank};
  for (const Peer& peer : peers) ranks.insert(peer.rank);
  return ranks.size();
}

std::vector<Peer> wait_for_peers(const Agent& agent) {
  const std::uint64_t start_ns = now_ns();
  const auto expected =
      static_cast<std::size_t>(std::max<std::int64_t>(agent.identity.local_world_size, 1));
  for (;;) {
    std::vector<Peer> peers = look_at_peers(agent.run_folder, agent.ring.path);
    const std::uint64_t waited_ns = now_ns() - start_ns;
    const bool all_seen = ranks_seen(peers, agent.identity.rank) >= expected ||
                          waited_ns >= longest_wait_for_unseen_ns;
    if ((all_gone(peers) && all_seen) || waited_ns >= agent.options.merge_timeout) return peers;
    pause(look_period_ns);
  }
}

// Local rank zero merges if it lives; else the last one out. Each process says `finished` before it
// looks, so of the last two at least one sees the other gone; take_merge() lets only one through.
bool is_ours_to_merge(const Agent& agent, const std::vector<Peer>& peers) {
  if (agent.identity.local_rank == 0 && agent.trace_pid == agent.identity.rank) return true;
  const bool zero_has_it = std::any_of(peers.begin(), peers.end(), [](const Peer& peer) {
    return peer.local_rank == 0 && peer.trace_pid == peer.rank && (peer.alive || peer.finished);
  });
  return !zero_has_it && all_gone(peers);
}

struct Inputs {
  std::vector<std::string> files;
  std::set<std::int64_t> ranks;
  std::vector<std::int64_t> unfinished;  // alive still, or dead with nothing to recover
};

void add_files(Inputs& inputs, std::int64_t rank, std::vector<std::string> files) {
  if (!files.empty()) inputs.ranks.insert(rank);
  for (std::string& file : files) {
    if (std::find(inputs.files.begin(), inputs.files.end(), file) == inputs.files.end()) {
      inputs.files.push_back(std::move(file));
    }
  }
}

Inputs gather(const Agent& agent, const std::vector<Peer>& peers) {
  Inputs inputs;
  add_files(inputs, agent.identity.rank, agent.written_files);
  for (const Peer& peer : peers) {
    if (!peer.finished && !peer.alive) {
      const Recovered recovered = recover_ring(peer.ring_path);
      for (const std::string& problem : recovered.problems) say_problem(problem);
      say_result("rank " + std::to_string(peer.rank) + " died: recovered " +
                 std::to_string(recovered.events) + " of its events from memory");
    }
    if (!peer.finished && peer.alive) inputs.unfinished.push_back(peer.rank);
    add_files(inputs, peer.rank, written_files(peer.ring_path));
  }
  return inputs;
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
  std::uint64_t lost = 0;
  std::string causes;
  for (const auto& [cause, count] : report.dropped) {
    lost += count;
    causes += (causes.empty() ? " (" : ", ") + cause + " " + std::to_string(count);
  }
  return path + ": " + std::to_string(report.ranks.size()) +
         (report.ranks.size() == 1 ? " rank, " : " ranks, ") + std::to_string(report.events) +
         " events, " + std::to_string(lost) + " lost" + causes + (causes.empty() ? "" : ")");
}

void merge(const Agent& agent, const Inputs& inputs) {
  const drain::NamedFile node = drain::node_file_name(agent.ring.ring);
  if (!node.problem.empty()) return say_problem("output.merged: " + node.problem);
  trace::MergeOptions options;
  options.gzip = agent.options.output_gzip;
  options.overwrite = agent.options.output_overwrite;
  options.missing_ranks = missing_ranks(agent, inputs);
  const trace::MergeReport report = trace::merge(inputs.files, node.path, options);
  if (!report.problem.empty()) return say_problem(report.problem);
  for (const trace::MergedInput& input : report.inputs) {
    if (!input.problem.empty()) say_problem(input.problem);
  }
  say_result(summary(report, node.path));
  if (!options.missing_ranks.empty()) {
    say_result(node.path + ": nothing from rank " + list(options.missing_ranks));
  }
  if (!inputs.unfinished.empty()) {
    say_result(node.path + ": rank " + list(inputs.unfinished) +
               " still ran after merge.timeout; merge later with: traceagent merge FOLDER");
  }
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
  const bool is_local_zero = agent.identity.local_rank == 0;
  std::vector<Peer> peers =
      is_local_zero ? wait_for_peers(agent) : look_at_peers(agent.run_folder, agent.ring.path);
  if (!is_ours_to_merge(agent, peers) || !take_merge(agent.run_folder)) return;
  const Inputs inputs = gather(agent, peers);
  if (!inputs.files.empty()) merge(agent, inputs);
  if (inputs.unfinished.empty()) remove_run_folder(agent.run_folder);
}

}  // namespace traceagent::process
