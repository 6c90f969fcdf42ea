#include "tools/node_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "agent/drain/end_of_run.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/node_claim.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/removed_cycles.hpp"
#include "agent/trace/trace_reader.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tools/dead_rings.hpp"
#include "tools/ending_signals.hpp"
#include "tools/losses.hpp"
#include "tools/node_of_run.hpp"
#include "tools/node_rank_files.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

// Of what the rings' processes have written: files whose names another run's have by now, and those
// that somebody has removed. What output.keep removed is counted elsewhere.
std::string lost_in_words(const std::vector<std::string>& rings, const NodeOfRun& node) {
  std::set<std::string> lost;
  for (const std::string& ring : rings) {
    for (const std::string& file : ring::written_files(ring)) {
      std::error_code ignored;
      const bool is_there = fs::exists(fs::symlink_status(file, ignored));
      if (is_there ? kind_of(file, node) == Kind::other : node.keep < 0) lost.insert(file);
    }
  }
  if (lost.empty()) return {};
  return "; without " + in_words(lost.size(), "file") + " that " +
         (lost.size() == 1 ? "is" : "are") + " gone, or another run's: " + *lost.begin();
}

std::optional<std::int64_t> base_of(const std::string& path) {
  trace::TraceReader reader;
  return reader.open(path) ? std::optional(reader.header().base_ns) : std::nullopt;
}

// Whatever output.overwrite says, what a dead run left takes the place of nothing newer.
bool is_newer(const std::string& path, const std::vector<std::string>& rank_files) {
  const auto base_ns = base_of(path);
  return base_ns && std::all_of(rank_files.begin(), rank_files.end(), [&](const std::string& file) {
           return base_of(file).value_or(0) < *base_ns;
         });
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// Another node's of this run is never replaced, nor what was recovered under a name with a pid: in
// a container that begins again and again all runs have the same.
bool may_have(const std::string& name, bool has_pid, const NodeOfRun& node,
              const std::vector<std::string>& rank_files) {
  const Kind there = kind_of(name, node);
  if (there == Kind::node_file || !is_there(name)) return true;
  return node.overwrite && !has_pid && there != Kind::another_nodes && !is_newer(name, rank_files);
}

// As a rank's file whose name another run has taken. `is_claimed`: the first is another node's.
std::string free_name(const NodeOfRun& node, const std::vector<std::string>& rank_files,
                      bool is_claimed) {
  std::string name;
  for (int attempt = is_claimed ? 1 : 0; attempt < drain::most_names; ++attempt) {
    name = drain::name_at_attempt(node.path, node.pid, attempt);
    if (may_have(name, attempt != 0, node, rank_files)) break;
  }
  return name;
}

// As the job would have done. By the first ring that can be read; they all say the same.
void index_and_queue(const std::vector<std::string>& rings, const std::vector<std::string>& files,
                     std::uint64_t events, NodeFile& made) {
  for (const std::string& path : rings) {
    ring::OpenedRing opened = ring::open_ring(path);
    const bool sound = is_sound(opened);
    if (sound) {
      const std::string untold = drain::index_merged(opened.ring, made.path, events, true);
      const std::string not_queued = drain::queue_node_file(opened.ring, made.path);
      const std::string not_indexed =
          not_queued.empty() ? ""
                             : drain::index_not_queued(opened.ring, {made.path}, not_queued, true);
      for (const std::string& problem :
           {untold, not_queued, not_indexed,
            drain::queue_end_of_run(opened.ring, {files, files}).problem}) {
        if (!problem.empty()) made.notes.push_back(problem);
      }
    }
    ring::close_ring(opened);
    if (sound) return;
  }
}

std::string summary_of(const trace::MergeReport& report, const NodeOfRun& node) {
  return in_words(report.ranks.size(), "rank") + ", " + in_words(report.events, "event") +
         losses_in_words(report) +
         in_words(trace::removed_cycles(node.folder, node.run_key, report, node.since_ns));
}

// `made.path` and `files`: of what, and where.
trace::MergeReport merge_node(const std::string& run, const NodeOfRun& node, bool is_ours,
                              const std::vector<std::string>& files, NodeFile& made) {
  trace::MergeOptions options;
  options.gzip = node.gzip || node.path.ends_with(".gz");
  options.overwrite = node.overwrite || is_ours;
  options.ranks_wanted = trace::RanksWanted::of_node;
  options.mix_runs = true;  // they were chosen by their run
  if (const ring::PrivateKilled killed = private_workers_killed(run); killed.count() != 0) {
    options.unfinished.push_back({ring::in_words(killed), ring::lost_in_words(killed)});
  }
  trace::MergeReport report = trace::merge(files, made.path, options);
  made.problem = report.problem;
  made.include = node.include;
  if (node.nodes > 1) made.include_once = node.folder + "/index";
  made.missing_ranks = report.missing_ranks;
  made.missing_of_node = report.missing_of_node;
  made.ranks.insert(report.ranks.begin(), report.ranks.end());
  for (const trace::MergedInput& input : report.inputs) {
    if (!input.problem.empty()) made.notes.push_back(input.problem);
  }
  return report;
}

}  // namespace

NodeFile make_node_file(const std::vector<std::string>& rings_of_run) {
  NodeFile made;
  NodeOfRun node;
  if (!describe(rings_of_run, node) || node.path.empty()) {
    return made;
  }
  const fs::path run = fs::path(rings_of_run.front()).parent_path();
  trace::FileLock held = trace::merge_lock(node.folder);
  if (node.keep >= 0) held.lock_soon(trace::FileLock::Kind::shared);
  std::vector<std::string> files = rank_files(rings_of_run, node);
  std::error_code ignored;
  if (node.keep >= 0) {
    std::erase_if(files, [&](const std::string& file) { return !fs::exists(file, ignored); });
  }
  if (files.empty()) {
    return made;
  }
  made.problem = drain::make_parent_folders(node.path);
  if (!made.problem.empty()) return made;
  // Before the look at what is there, until the file is.
  std::optional<drain::NodeClaim> claim;
  if (node.nodes > 1) claim.emplace(node.path, node.run_key, node.node_rank, node.nodes);
  made.path = free_name(node, files, claim && claim->other_node());
  const bool is_ours = kind_of(made.path, node) == Kind::node_file;
  if (is_ours && has_other_rank(made.path, files)) {
    // No file of this run gives way to one of fewer ranks: of those it may be all that is left.
    files = files_not_in(made.path, files);
    files.push_back(made.path);
  } else if (is_ours && node.keep >= 0) {
    // It may be all that is left of what output.keep has removed.
    files.push_back(made.path);
  }
  const GuardedOutput guarded(made.path);
  const trace::MergeReport report = merge_node(run.string(), node, is_ours, files, made);
  made.summary = summary_of(report, node) + lost_in_words(rings_of_run, node);
  if (!made.problem.empty()) return made;
  if (claim) claim->file_is_made();
  index_and_queue(rings_of_run, files, report.events, made);
  return made;
}

}  // namespace traceagent::tools
