#include "tools/unfinished_ranks.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/run_folder_name.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "config/command_words.hpp"
#include "config/options.hpp"
#include "tools/dead_rings.hpp"
#include "tools/losses.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

std::set<std::string> run_keys(const std::vector<std::string>& trace_files) {
  std::set<std::string> keys;
  for (const std::string& path : trace_files) {
    trace::TraceReader reader;
    if (!reader.open(path)) continue;
    const auto key = trace::string_member(reader.header().distributed_info, "run_key").value_or("");
    if (!key.empty()) keys.emplace(key);
  }
  return keys;
}

std::set<fs::path> paths_in(const fs::path& folder) {
  std::error_code error;
  std::set<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.insert(at->path());
  }
  return paths;
}

// Of whatever node: several may be on this machine.
bool is_folder_of_any(const fs::path& run, const std::set<std::string>& keys) {
  const std::string name = run.filename().string();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return ring::is_run_folder_name(name, key); });
}

constexpr const char* still_runs = "still runs: merge again when the job has ended";

// A rank may have many workers of which there is one thing to say.
void add_once(std::string who, std::string why, std::vector<trace::Unfinished>& found) {
  const bool is_told = std::ranges::any_of(found, [&](const trace::Unfinished& process) {
    return process.who == who && process.why == why;
  });
  if (!is_told) found.push_back({std::move(who), std::move(why)});
}

void add(const fs::path& path, std::vector<trace::Unfinished>& found) {
  ring::OpenedRing opened = ring::open_ring(path.string());
  if (!opened.ring.valid()) return;
  const ring::Header& header = opened.ring.header();
  const bool is_over = header.finished.load(std::memory_order_acquire) != 0;
  const ring::IdentityBlock& identity = header.identity;
  const std::string who =
      trace::process_in_words(identity.rank, identity.trace_pid == identity.rank);
  if (!is_over && opened.owner_alive) {
    add_once(who, still_runs, found);
  } else if (ring::has_unwritten_window(opened.ring)) {
    const std::string command =
        ": traceagent recover " + config::shell_word(path.parent_path().string());
    const std::string elsewhere = " (with --output FOLDER if its folder still cannot be written)";
    add_once(who, is_over ? "could not write all" + command + elsewhere : "was killed" + command,
             found);
  }
  ring::close_ring(opened);
}

void add_private_workers(const fs::path& run, std::vector<trace::Unfinished>& found) {
  const ring::PrivateWorkers workers = ring::private_workers_of(run.string());
  for (const ring::PrivateWorker& worker : workers.living) {
    if (worker.finished != 0) continue;
    add_once(trace::process_in_words(worker.rank, worker.is_rank != 0), still_runs, found);
  }
  if (workers.killed.count() == 0) return;
  found.push_back({ring::in_words(workers.killed), ring::lost_in_words(workers.killed)});
}

}  // namespace

std::vector<trace::Unfinished> unfinished_ranks(const std::vector<std::string>& trace_files) {
  const config::Loaded loaded = config::load(config::Environment::of_process());
  const std::set<std::string> keys = run_keys(trace_files);
  std::vector<trace::Unfinished> found;
  for (const fs::path& run : paths_in(users_ring_folder(loaded.options.ring_folder))) {
    if (!is_folder_of_any(run, keys)) continue;
    add_private_workers(run, found);
    for (const fs::path& ring : paths_in(run)) {
      if (ring.extension() == ".ring") add(ring, found);
    }
  }
  return found;
}

}  // namespace traceagent::tools
