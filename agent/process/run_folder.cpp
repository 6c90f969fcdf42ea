#include "agent/process/run_folder.hpp"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/whole_path.hpp"
#include "agent/process/note_file.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/run_launcher.hpp"
#include "agent/process/run_name.hpp"
#include "agent/process/spared.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/run_folder_name.hpp"

namespace traceagent::process {
namespace {

// Why it is not our own folder, or "". A link or a folder of someone else could redirect what we
// write, and name what we read.
std::string why_not_own(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return path + ": " + event::error_text(errno);
  const bool is_own = S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
  return is_own ? std::string() : path + ": belongs to another user";
}

std::string make_own_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return path + ": " + event::error_text(errno);
  }
  return why_not_own(path);
}

bool ends_with(const std::string& text, const char* suffix) {
  return text.size() >= std::strlen(suffix) &&
         text.compare(text.size() - std::strlen(suffix), std::string::npos, suffix) == 0;
}

// Calls `look` with the folder's descriptor and each name: no memory is needed here. Returns the
// number of what went wrong, or 0.
template <class Look>
int for_each_name(const char* folder, const Look& look) noexcept(noexcept(look(0, ""))) {
  const event::Folder entries = event::open_folder_high(folder);
  if (entries == nullptr) return errno;
  const int descriptor = dirfd(entries.get());
  for (errno = 0; const dirent* entry = readdir(entries.get()); errno = 0) {
    const bool is_own =
        std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
    if (!is_own) look(descriptor, entry->d_name);
  }
  return errno;
}

// `error` becomes the number of what went wrong, or 0.
std::vector<std::string> names_in(const std::string& folder, int& error) {
  std::vector<std::string> names;
  error = for_each_name(folder.c_str(), [&](int, const char* name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

std::string claimant_in_words(int pid, std::uint64_t start_time) {
  const std::string start = start_time != 0 ? " " + std::to_string(start_time) : "";
  return std::to_string(pid) + start + "\n";
}

enum class Claim { ours, others, refused };

// With the time of its start: a container that
// is started again mostly has the same pids, and may find the folder of the run that was killed.
Claim claim(const std::string& path, int pid) {
  const std::uint64_t start_time = ring::start_time_of(static_cast<std::uint32_t>(pid));
  const std::string own = claimant_in_words(pid, start_time);
  if (make_note(path, own)) return Claim::ours;
  if (errno != EEXIST) return Claim::refused;
  return read_note(path) == own ? Claim::ours : Claim::others;  // ours before an exec
}

// A job may fork thousands of workers. Claims are taken in a row and stay: the end is found by
// halves.
std::int64_t first_free_claim(const std::string& base, std::int64_t from, std::int64_t end) {
  const auto is_taken = [&](std::int64_t number) {
    return access((base + "." + std::to_string(number)).c_str(), F_OK) == 0;
  };
  while (from < end) {
    const std::int64_t middle = from + (end - from) / 2;
    if (is_taken(middle)) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return from;
}

}  // namespace

namespace {

// With the user's folder around it. Returns what went wrong.
std::string make_both_folders(const std::string& path) {
  std::string problem;
  // Twice: the last rank of another run may remove the user's folder between the two steps.
  for (int attempt = 0; attempt < 2; ++attempt) {
    problem = make_own_folder(path.substr(0, path.rfind('/')));
    if (problem.empty()) problem = make_own_folder(path);
    if (problem.empty()) break;
  }
  return problem;
}

}  // namespace

namespace {

// The job may change its working folder, and others look for the path among what a process maps.
std::string whole_folder(const std::string& folder) {
  const event::WholePath whole(folder.c_str());
  return whole.c_str() != nullptr ? whole.c_str() : folder;  // what is wrong with it mkdir says
}

std::string users_folder_in(const std::string& ring_folder) {
  return whole_folder(ring_folder) + "/traceagent-" + std::to_string(geteuid());
}

}  // namespace

bool holds_rank(const std::string& ring_folder, int pid, std::uint64_t start_ticks,
                std::int64_t rank) {
  if (start_ticks == 0) return false;
  const std::string folder = users_folder_in(ring_folder);
  if (!why_not_own(folder).empty()) return false;
  const std::string claim = "/claim-rank" + std::to_string(rank);
  const std::string wanted = claimant_in_words(pid, start_ticks);
  int error = 0;
  const std::vector<std::string> runs = names_in(folder, error);
  return std::any_of(runs.begin(), runs.end(), [&](const std::string& run) {
    return !run.starts_with(single_process_key) && read_note(folder + "/" + run + claim) == wanted;
  });
}

RunFolder make_run_folder(const std::string& ring_folder, const std::string& run_key,
                          std::int64_t node_rank) {
  RunFolder folder;
  folder.path = users_folder_in(ring_folder) + "/" + ring::run_folder_name(run_key, node_rank);
  folder.problem = make_both_folders(folder.path);
  if (!folder.problem.empty()) {
    folder.problem =
        "ring.folder: " + folder.problem +
        ": recording in private memory, which does not survive a kill and which the "
        "node's other ranks do not see: set TRACEAGENT_RING_FOLDER to a writable tmpfs";
    folder.path.clear();
  }
  return folder;
}

std::int64_t claim_rank(const RunFolder& folder, const Claimant& claimant) {
  if (folder.path.empty()) return 0;
  const int pid = claimant.pid;
  const std::string base = folder.path + "/claim-rank" + std::to_string(claimant.rank);
  const Newcomer newcomer{base, rank_start_ns(folder, claimant), claimant.world_size, pid};
  // A run that has more ranks than the older one had.
  if (access(base.c_str(), F_OK) != 0 && is_dead_run(folder, newcomer)) {
    set_dead_run_aside(folder, newcomer);
  }
  // Who ends the run that was here, or removes it, may take the folder away at any time.
  constexpr int most_attempts = 3;
  Claim first = Claim::others;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    first = claim(base, pid);
    if (first == Claim::ours) {
      note_launcher(folder, claimant);
      return 0;
    }
    if (first == Claim::refused && !make_both_folders(folder.path).empty()) return 0;
    if (first == Claim::others && !set_dead_run_aside(folder, newcomer)) break;
  }
  if (first == Claim::refused) return 0;
  // A process that was a claimant before its exec finds itself among the first.
  constexpr std::int64_t first_claimants = 64;
  constexpr std::int64_t most_claimants =
      4000;  // times a million: still 32 bits, as viewers want it
  std::int64_t number = 1;
  for (; number < most_claimants; ++number) {
    if (number == first_claimants) number = first_free_claim(base, number, most_claimants);
    const Claim claimed = claim(base + "." + std::to_string(number), pid);
    if (claimed == Claim::ours) return number;
    if (claimed == Claim::refused) break;  // so is every other
  }
  return most_claimants;
}

std::string ring_path(const RunFolder& folder, std::int64_t rank, int pid) {
  if (folder.path.empty()) return {};
  const std::string base = folder.path + "/" + std::to_string(rank) + "-" + std::to_string(pid);
  for (int number = 0; number < 1000; ++number) {
    std::string path = base + "-" + std::to_string(number) + ".ring";
    if (access(path.c_str(), F_OK) != 0) return path;
  }
  return {};
}

std::vector<std::string> ring_paths(const RunFolder& folder, std::string* problem) {
  std::vector<std::string> paths;
  if (folder.path.empty()) return paths;
  int error = 0;
  for (const std::string& name : names_in(folder.path, error)) {
    if (ends_with(name, ".ring")) paths.push_back(folder.path + "/" + name);
  }
  // Who removed it has seen all of it.
  if (problem != nullptr && error != 0 && error != ENOENT) {
    *problem = folder.path + ": " + event::error_text(error);
  }
  return paths;
}

std::vector<std::string> claim_paths(const RunFolder& folder) {
  std::vector<std::string> paths;
  int error = 0;
  for (const std::string& name : names_in(folder.path, error)) {
    if (name.starts_with("claim-rank")) paths.push_back(folder.path + "/" + name);
  }
  return paths;
}

bool be_first(const RunFolder& folder, const std::string& topic) {
  if (folder.path.empty()) return true;
  // No room for the note: better twice than never.
  return make_note(folder.path + "/" + topic, "") || errno != EEXIST;
}

bool has_been(const RunFolder& folder, const std::string& topic) {
  return !folder.path.empty() && access((folder.path + "/" + topic).c_str(), F_OK) == 0;
}

namespace {

// The user's folder, which goes with the last run in it: only an empty one can.
void remove_parent(const std::string& path) noexcept {
  std::array<char, PATH_MAX> parent;
  const std::size_t size = std::min(path.rfind('/'), path.size());
  if (size >= parent.size()) return;
  std::memcpy(parent.data(), path.data(), size);
  parent[size] = '\0';
  rmdir(parent.data());
}

}  // namespace

bool has_no_ring(const RunFolder& folder) noexcept {
  bool has_ring = false;
  const int error = for_each_name(folder.path.c_str(), [&](int, const char* name) noexcept {
    has_ring = has_ring || std::string_view(name).ends_with(".ring");
  });
  return error == 0 && !has_ring;
}

bool has_note(const RunFolder& folder, const char* name) noexcept {
  bool is_there = false;
  for_each_name(folder.path.c_str(), [&](int, const char* entry) noexcept {
    is_there = is_there || std::strcmp(entry, name) == 0;
  });
  return is_there;
}

namespace {

// Who removes them may be killed over it. What is left then must not be taken for a later run's of
// the same key: its rings without the note that they are merged, or any of it without the claims
// that show its processes to be dead.
enum class Turn { rings, notes, claims };

Turn turn_of(std::string_view name) noexcept {
  if (name.starts_with("claim-rank")) return Turn::claims;
  return name.ends_with(".ring") || name.ends_with(".files") ? Turn::rings : Turn::notes;
}

// Returns the number of what went wrong, or 0.
int remove_files(const RunFolder& folder, const Spared* spared, Turn turn) {
  int error = 0;
  const int unread =
      for_each_name(folder.path.c_str(), [&](int entries, const char* name) noexcept {
        if (turn_of(name) != turn || (spared != nullptr && spared->has(name))) return;
        const bool is_gone = unlinkat(entries, name, 0) == 0 || errno == ENOENT;
        if (!is_gone && error == 0) error = errno;
      });
  return error != 0 ? error : unread;
}

}  // namespace

std::string remove_run_folder(const RunFolder& folder, const Spared* spared) {
  if (folder.path.empty()) return {};
  int error = 0;
  for (const Turn turn : {Turn::rings, Turn::notes, Turn::claims}) {
    const int wrong = remove_files(folder, spared, turn);
    if (error == 0) error = wrong;
  }
  // Not empty: another process of the run has begun.
  const bool is_left = rmdir(folder.path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY;
  if (is_left && error == 0) error = errno;
  remove_parent(folder.path);
  if (error == 0 || error == ENOENT) return {};
  return "ring.folder: " + folder.path + ": " + event::error_text(error) +
         ": not removed: all of the run is written, remove the folder by hand";
}

}  // namespace traceagent::process
