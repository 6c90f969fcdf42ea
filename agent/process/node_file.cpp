#include "agent/process/node_file.hpp"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/node_claim.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/governor.hpp"
#include "agent/process/included_traces.hpp"
#include "agent/process/node_inputs.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/private_workers.hpp"
#include "agent/process/run_files.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/removed_cycles.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

// What output.keep has removed before.
std::string removed_in_words(const Agent& agent, const trace::MergeReport& report) {
  if (agent.options.output_keep < 0) return {};
  const ring::Ring& ring = agent.ring.ring;
  const std::string run_key(ring.name(ring.header().identity.run_key));
  return trace::in_words(trace::removed_cycles(drain::output_folder(ring), run_key, report,
                                               older_run_until_ns(agent.run_folder)));
}

NodeTotals totals_of(const trace::MergeReport& report) {
  trace::Losses losses = trace::losses_of(report);
  return {report.ranks.size(), report.events, losses.events, std::move(losses.causes),
          std::move(losses.others)};
}

std::string summary(const NodeTotals& totals, const std::string& path) {
  return path + ": " + std::to_string(totals.ranks) + (totals.ranks == 1 ? " rank, " : " ranks, ") +
         std::to_string(totals.events) + " events, " + std::to_string(totals.lost) + " lost" +
         (totals.causes.empty() ? "" : " (" + totals.causes + ")") +
         (totals.others.empty() ? "" : "; also " + totals.others);
}

// Their events are not among the lost ones.
std::string in_memory_in_words(const Agent& agent, const NodeInputs& inputs) {
  const std::size_t cycles = inputs.cycles_in_memory;
  if (cycles == 0) return {};
  return "; " + std::to_string(cycles) + (cycles == 1 ? " cycle waits" : " cycles wait") +
         " in memory: traceagent recover " + config::shell_word(agent.run_folder.path);
}

void index_node_file(const Agent& agent, const std::string& path, std::uint64_t events) {
  const std::string problem = drain::index_merged(agent.ring.ring, path, events);
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
}

// Each once, however many workers of a rank there are.
std::string list(const std::vector<std::string>& living) {
  std::set<std::string> told;
  std::string text;
  for (const std::string& each : living) {
    if (told.insert(each).second) text += (text.empty() ? "" : ", ") + each;
  }
  return text;
}

void say_running(const std::string& path, const std::vector<std::string>& living,
                 const char* if_killed) {
  if (living.empty()) return;
  say_result(path + ": " + list(living) + " still runs: it will be added when it ends" + if_killed);
}

void say_missing(const NodeInputs& inputs, const trace::MergeReport& report,
                 const std::string& path) {
  if (!report.missing_ranks.empty()) {
    say_result(path + ": nothing from " + trace::ranks_in_words(report.missing_ranks));
  }
  if (!report.missing_of_node.empty()) {
    say_result(path + ": nothing from " + report.missing_of_node);
  }
  say_running(path, inputs.unfinished, ", or by traceagent recover if it is killed");
  say_running(path, inputs.unfinished_private,
              "; it records in private memory: if it is killed, what it has not written is lost");
}

// Mostly of all ranks alike. Where there is no folder to claim numbers in, that was said; the file
// tells the rest.
void say_mixed(const Agent& agent, const trace::MergeReport& report, const std::string& path) {
  if (report.mixed.empty() || agent.run_folder.path.empty()) return;
  const std::size_t others = report.mixed.size() - 1;
  say_problem(path + ": " + report.mixed[0].who + " " + report.mixed[0].why +
              (others == 0 ? "" : "; also " + std::to_string(others) + " more of its ranks"));
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
bool has_room_for(const Agent& agent, const NodeInputs& inputs, const std::string& path) {
  if (bytes_of(inputs.files) <= disk_room(agent)) return true;
  say_problem(
      "budget.disk: " + config::show_bytes(agent.options.budget_disk) + ": " + path +
      ": not merged, since it would exceed it: traceagent merge -o " + config::shell_word(path) +
      " " +
      config::shell_word(inputs.files.front().substr(0, inputs.files.front().rfind('/') + 1)));
  return false;
}

void say_lost(const std::string& path) {
  say_problem("output.keep: 0: " + path +
              ": this rank's files were removed before it could be made of them: keep: 1 keeps the "
              "newest, and output.remote has them all");
}

// Where the node's file is to be, and what of this run is there.
struct Place {
  std::string path;
  std::optional<RunFile> there;
};

// All processes of the run that merge find the same.
Place find_place(const Agent& agent, const std::string& path) {
  const OlderRun older = older_run(agent.run_folder);
  const auto pid = static_cast<std::uint32_t>(older.pid != 0 ? older.pid : agent.pid);
  Place place;
  for (int attempt = 0; attempt < drain::most_names; ++attempt) {
    place.path = drain::name_at_attempt(path, pid, attempt);
    place.there = run_file(place.path, agent.identity.run_key);
    if (!place.there || place.there->base_ns >= older.until_ns) break;
    place.there.reset();
    if (agent.options.output_overwrite) break;
  }
  return place;
}

void say_beside(const Agent& agent, const std::string& path, const std::string& older_path) {
  if (path == older_path || !is_spokesman(agent, "older-node-file")) return;
  say_result(path + ": beside " + older_path + ", which an earlier run of the same key (" +
             agent.identity.run_key +
             ") has made: set TRACEAGENT_RUN_NAME anew for each run, with {run_name} in "
             "output.folder");
}

bool has_more_nodes(const Identity& identity) noexcept {
  return identity.world_size > identity.local_world_size;
}

// Of another node of this run: by its claim, or by its file, which it has made before.
std::optional<std::int64_t> other_node_at(const Place& place, const drain::NodeClaim* claim,
                                          std::int64_t own_node) {
  if (claim != nullptr && claim->other_node()) return claim->other_node();
  const bool is_others = place.there && place.there->node_rank != own_node;
  return is_others ? std::optional(place.there->node_rank) : std::nullopt;
}

void say_taken(const Agent& agent, const std::string& path, std::int64_t node,
               const drain::NodeClaim* claim) {
  const bool is_by_claim = claim != nullptr && claim->other_node();
  say_problem("output.merged: " + *agent.options.output_merged + ": " + path + ": node " +
              std::to_string(node) + " of this run has it" +
              (is_by_claim ? " (if that node does not run, remove " + claim->link() + ")" : "") +
              ": put {node_rank} into the name; this node's rank files are "
              "whole");
}

void say_rank_file(const Agent& agent, const std::string& path) {
  say_problem("output.merged: " + *agent.options.output_merged + ": " + path +
              ": a rank's file of this run has the name: choose another; the rank files are whole");
}

trace::MergeOptions merge_options(const Agent& agent, const NodeInputs& inputs,
                                  const Place& place) {
  trace::MergeOptions options;
  options.gzip = drain::is_compressed(agent.ring.ring, place.path);
  options.overwrite = agent.options.output_overwrite || place.there;
  options.ranks_wanted = trace::RanksWanted::of_node;
  for (const auto* living : {&inputs.unfinished, &inputs.unfinished_private}) {
    for (const std::string& who : *living) options.unfinished.push_back({who, "still runs"});
  }
  options.unfinished.insert(options.unfinished.end(), inputs.kept.begin(), inputs.kept.end());
  if (const ring::PrivateKilled killed = private_workers_killed(agent); killed.count() != 0) {
    options.unfinished.push_back({ring::in_words(killed), ring::lost_in_words(killed)});
  }
  options.mix_runs = true;  // they were chosen by their run, and nobody is there to be asked
  return options;
}

// Who reads the file later has not seen what was told. It is made once more, from what it was made
// of: before, nobody knew, and the tool that did not come to its end cannot say so. No worse one
// takes its place: where an input cannot be read whole, now or before, it stays as it is.
void note_not_included(Agent& agent, const NodeInputs& inputs, const Place& place,
                       const std::string& why) {
  trace::MergeOptions options = merge_options(agent, inputs, place);
  options.overwrite = true;
  options.strict = true;
  options.unfinished.push_back({trace::include_mark + agent.options.merge_include, why});
  agent.drain.allow(agent.options.merge_timeout + agent.options.exit_timeout);
  static_cast<void>(trace::merge(inputs.files, place.path, options));
}

// What the file holds with other profilers' traces in it. The index tells of it before, too: to put
// them in may take long.
NodeTotals add_included(Agent& agent, const NodeInputs& inputs, const Place& place,
                        const trace::MergeReport& report) {
  index_node_file(agent, place.path, report.events);
  const Included included = include_traces(agent, place.path, report.ranks);
  if (!included.problem.empty()) note_not_included(agent, inputs, place, included.problem);
  if (!included.totals) return totals_of(report);
  index_node_file(agent, place.path, included.totals->events);
  return *included.totals;
}

// What is wrong is said by who opens the file; the ranks' files may have said it before.
void make_folder_of(const std::string& path) {
  static_cast<void>(drain::make_parent_folders(path));
}

// True if there is a file.
bool merge(Agent& agent, NodeInputs& inputs, const Place& place, RankFilesHeld& held) {
  // A node file of this run was made by one who saw less: this one holds all that it holds.
  const bool is_there = place.there.has_value();
  if (is_there || inputs.may_lack_files || lacks_ranks(agent, inputs)) {
    add_files_of_folder(agent, inputs);
  }
  if (inputs.lost_all) say_lost(place.path);
  if (inputs.files.empty()) return false;
  make_folder_of(place.path);
  // It may be all that is left of what output.keep has removed.
  if (is_there && agent.options.output_keep >= 0) inputs.files.push_back(place.path);
  if (!has_room_for(agent, inputs, place.path)) return false;
  const trace::MergeReport report =
      trace::merge(inputs.files, place.path, merge_options(agent, inputs, place));
  const bool is_told = say_bad_inputs(report);
  if (!report.problem.empty()) {
    // Of inputs that are all bad it says that there are none.
    if (!is_told) say_problem(report.problem);
    return false;
  }
  const NodeTotals totals = add_included(agent, inputs, place, report);
  say_result(summary(totals, place.path) + in_memory_in_words(agent, inputs) +
             removed_in_words(agent, report));
  say_missing(inputs, report, place.path);
  say_mixed(agent, report, place.path);
  if (inputs.all_ended() && inputs.kept.empty() && !is_told) {
    after_node_file(agent, place.path, inputs, held);
  }
  return true;
}

}  // namespace

bool write_node_file(Agent& agent, NodeInputs& inputs, RankFilesHeld& held) {
  const drain::NamedFile node = drain::node_file_name(agent.ring.ring);
  if (!node.problem.empty()) {
    say_problem("output.merged: " + node.problem);
    return false;
  }
  // For the claim. Where nothing is to be merged no folder is left.
  if (!inputs.files.empty()) make_folder_of(node.path);
  if (node.is_shortened) say_result(drain::shortened_in_words("output.merged", node.path));
  const Identity& identity = agent.identity;
  // Before the look at what is there, until the file is.
  std::optional<drain::NodeClaim> claim;
  if (has_more_nodes(identity)) {
    claim.emplace(node.path, identity.run_key, identity.node_rank,
                  drain::nodes_of(identity.world_size, identity.local_world_size));
  }
  const Place place = find_place(agent, node.path);
  drain::NodeClaim* const own = claim ? &*claim : nullptr;
  // Also one that the uploader has removed, whose place with the target it would take.
  const bool is_of_rank =
      (place.there && !place.there->is_merged) || drain::is_own_file(agent.ring.ring, place.path);
  const auto other = other_node_at(place, own, identity.node_rank);
  if (is_of_rank) say_rank_file(agent, place.path);
  if (!is_of_rank && other) say_taken(agent, place.path, *other, own);
  if (is_of_rank || other || !merge(agent, inputs, place, held)) return false;
  if (own != nullptr) own->file_is_made();
  say_beside(agent, place.path, node.path);
  return true;
}

}  // namespace traceagent::process
