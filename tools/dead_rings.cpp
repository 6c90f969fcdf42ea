#include "tools/dead_rings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "agent/ring/dead_runs.hpp"
#include "agent/ring/movers_note.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

namespace {

bool is_ring_name(const fs::path& path) { return path.extension() == ".ring"; }

bool has_living_private_worker(const fs::path& run) {
  return !ring::private_workers_of(run.string()).living.empty();
}

// <ring.folder>/traceagent-<uid>/<run>/<ring>: three levels and no link.
std::map<fs::path, std::vector<std::string>> rings_by_run(const std::string& folder,
                                                          std::error_code& error) {
  constexpr int deepest = 2;
  std::map<fs::path, std::vector<std::string>> rings;
  // Folders of others within it are passed over; itself it must be readable.
  const fs::directory_iterator itself(folder, error);
  if (error) return rings;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (at.depth() >= deepest) at.disable_recursion_pending();
    std::error_code ignored;
    if (is_ring_name(at->path()) && at->is_regular_file(ignored)) {
      rings[at->path().parent_path()].push_back(at->path().string());
    }
  }
  return rings;
}

void add_folder(const std::string& folder, DeadRings& found) {
  std::error_code error;
  const auto rings = rings_by_run(folder, error);
  if (error) {
    found.problems.push_back(folder + ": " + error.message() + ": its rings are not recovered");
  }
  for (auto [run, paths] : rings) {
    std::sort(paths.begin(), paths.end());
    const bool goes_on = std::any_of(paths.begin(), paths.end(), ring::has_living_owner) ||
                         has_living_private_worker(run);
    auto& into = goes_on ? found.left : found.paths;
    into.insert(into.end(), paths.begin(), paths.end());
  }
}

bool is_claim(const fs::path& note) { return note.filename().string().starts_with("claim-rank"); }

// The notes of a run that has nothing else, and nobody who could still make a ring.
std::optional<std::vector<fs::path>> notes_of_empty_run(const fs::path& run) {
  std::error_code error;
  std::vector<fs::path> notes;
  for (fs::directory_iterator at(run, error), end; !error && at != end; at.increment(error)) {
    if (!ring::is_runs_note(at->path())) return std::nullopt;
    if (is_claim(at->path()) && ring::has_living_claimant(at->path())) return std::nullopt;
    notes.push_back(at->path());
  }
  if (error || has_living_private_worker(run)) return std::nullopt;
  return notes;
}

// Only what the agent makes there: a ring may have been copied to anywhere. Under the lock of who
// may set a run aside: a new run of its key may begin now. True where its notes are gone.
bool remove_empty_run(const fs::path& run) {
  if (!notes_of_empty_run(run)) return false;
  const ring::MoversNote movers_note(run);
  if (!movers_note.is_ours()) return false;
  std::optional<std::vector<fs::path>> notes = notes_of_empty_run(run);
  if (!notes) {
    movers_note.remove();
    return false;
  }
  // Claims last: see agent/ring/dead_runs.cpp.
  std::erase_if(*notes,
                [](const fs::path& note) { return note.filename() == ring::MoversNote::name; });
  std::stable_partition(notes->begin(), notes->end(),
                        [](const fs::path& note) { return !is_claim(note); });
  std::error_code ignored;
  for (const fs::path& note : *notes) fs::remove(note, ignored);
  movers_note.remove();
  if (rmdir(run.c_str()) == 0) rmdir(run.parent_path().c_str());  // both only if empty
  return true;
}

bool is_young(const fs::path& path) {
  constexpr std::chrono::seconds longest_start(2);  // from a run's folder to its first claim
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed < longest_start;
}

// A folder of that name may have been copied to anywhere.
bool is_users_folder(const fs::path& folder) {
  return folder.filename().string().starts_with("traceagent-");
}

bool is_left_over(const fs::path& run) {
  const auto notes = notes_of_empty_run(run);
  return notes && (std::any_of(notes->begin(), notes->end(), is_claim) || !is_young(run));
}

}  // namespace

// Root's may be believed: a container's, or /tmp. Others may write one's own where its owner says
// so (a group of one's own, a file system without modes): each ring and list in it is looked at.
bool is_others_folder(const std::string& run) {
  struct stat facts {};
  if (stat(run.c_str(), &facts) != 0) return false;  // gone, which is seen later
  return facts.st_uid != geteuid() && facts.st_uid != 0;
}

ring::PrivateKilled remove_ringless_runs(const std::vector<std::string>& runs) {
  ring::PrivateKilled killed;
  for (const fs::path run : runs) {
    const fs::path users_folder = run.parent_path();
    std::error_code ignored;
    if (!is_users_folder(users_folder) || !fs::is_directory(fs::symlink_status(run, ignored))) {
      continue;
    }
    if (is_others_folder(run.string()) || !is_left_over(run)) continue;
    const ring::PrivateKilled killed_there = private_workers_killed(run.string());
    if (remove_empty_run(run)) killed += killed_there;
  }
  return killed;
}

void remove_empty_users_folder(const std::string& folder) {
  if (is_users_folder(folder) && !is_young(folder)) rmdir(folder.c_str());
}

ring::PrivateKilled private_workers_killed(const std::string& run) {
  return ring::private_workers_of(run).killed;
}

DeadRings find_dead_rings(const std::vector<std::string>& files_and_folders) {
  DeadRings found;
  for (const std::string& path : files_and_folders) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, found);
    } else {
      found.paths.push_back(path);
    }
  }
  return found;
}

std::vector<std::string> runs_of(const std::vector<std::string>& rings) {
  std::set<std::string> runs;
  for (const std::string& ring : rings) {
    runs.insert(fs::path(ring).parent_path().string());
  }
  return {runs.begin(), runs.end()};
}

std::vector<std::string> names_in(const std::string& run, const std::vector<std::string>& rings) {
  std::vector<std::string> found;
  for (const fs::path ring : rings) {
    if (ring.parent_path().string() == run) found.push_back(ring.filename().string());
  }
  return found;
}

bool is_whole_dead_run(const std::vector<std::string>& rings) {
  if (rings.empty()) return false;
  const std::set<fs::path> given(rings.begin(), rings.end());
  std::error_code error;
  fs::directory_iterator at(fs::path(rings.front()).parent_path(), error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (is_ring_name(at->path()) && !given.contains(at->path())) return false;
  }
  return std::none_of(rings.begin(), rings.end(), ring::has_living_owner) &&
         !has_living_private_worker(fs::path(rings.front()).parent_path());
}

std::string users_ring_folder(const std::string& ring_folder) {
  return ring_folder + "/traceagent-" + std::to_string(geteuid());
}

std::string remove_dead_ring(const std::string& path) {
  std::error_code ignored;
  std::error_code error;
  fs::remove(path, error);
  if (error) return path + ": " + error.message() + ": recovered, and not removed";
  fs::remove(ring::written_files_path(path), ignored);
  const fs::path run = fs::path(path).parent_path();
  if (is_users_folder(run.parent_path())) remove_empty_run(run);
  return {};
}

}  // namespace traceagent::tools
