#include "agent/ring/dead_runs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/ring/movers_note.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/unused_memory.hpp"

namespace traceagent::ring {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

std::int64_t now_ns(clockid_t clock) noexcept {
  return static_cast<std::int64_t>(event::clock_ns(clock));
}

// From a run's folder to its first claim, and from there to its first ring.
constexpr std::int64_t longest_start_ns = 10 * second_ns;

std::int64_t modified_ns(const struct stat& facts) noexcept {
  return facts.st_mtim.tv_sec * second_ns + facts.st_mtim.tv_nsec;
}

bool is_ring_name(std::string_view name) noexcept { return name.ends_with(".ring"); }

// Sorted. False where the folder cannot be read, with errno.
bool names_in(const std::string& folder, std::vector<std::string>& names) {
  event::Folder entries = event::open_folder_high(folder.c_str());
  if (entries == nullptr) return false;
  int error = 0;
  for (errno = 0; const dirent* entry = readdir(entries.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  error = errno;
  entries.reset();
  std::sort(names.begin(), names.end());
  errno = error;
  return error == 0;
}

// <rank>-<pid>-<n>.ring
std::uint32_t pid_in_name(const std::string& path) noexcept {
  const char* dash = std::strchr(path.c_str() + (path.rfind('/') + 1), '-');  // npos + 1 is 0
  return dash == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(dash + 1, nullptr, 10));
}

bool owner_lives(const std::string& path, const OpenedRing& opened) {
  if (opened.ring.valid() || opened.is_unmade || opened.is_gone) return opened.owner_alive;
  // Of another version, or damaged: its lock and its name are all that tell.
  const std::uint32_t pid = pid_in_name(path);
  return owner_holds_lock(path) ||
         (process_lives(pid, start_time_of(pid)) && process_maps(pid, path.c_str()));
}

void add_ring(Run& run, const std::string& path, const struct stat& facts) {
  OpenedRing opened = open_ring(path);
  if (opened.is_gone) return;
  const bool lives = owner_lives(path, opened);
  if (opened.ring.valid()) {
    run.last_sign_ns = std::max(run.last_sign_ns, last_anchor_ns(opened.ring.header()));
  }
  close_ring(opened);
  if (lives) run.state = Run::State::lives;
  run.rings.push_back(path);
  run.ring_bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

void refuse(Run& run, const std::string& problem) {
  run.state = Run::State::refused;
  run.problem = problem;
}

bool is_own(const struct stat& facts) noexcept { return facts.st_uid == geteuid(); }

void add_private_workers(Run& run) {
  const PrivateWorkers workers = private_workers_of(run.path);
  run.private_killed = workers.killed;
  if (!workers.living.empty()) run.state = Run::State::lives;
}

void add_entry(Run& run, const std::string& name) {
  const std::string path = run.path + "/" + name;
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT) refuse(run, path + ": " + event::error_text(errno));
    return;
  }
  if (!is_own(facts)) return refuse(run, path + ": belongs to another user");
  if (!S_ISREG(facts.st_mode)) return refuse(run, path + ": is no file of traceagent's");
  run.last_sign_ns = std::max(run.last_sign_ns, modified_ns(facts));
  if (is_ring_name(name)) return add_ring(run, path, facts);
  if (!is_runs_note(path)) return refuse(run, path + ": is no file of traceagent's");
  run.notes.push_back(path);
  if (name == private_workers_note) add_private_workers(run);
  if (name.starts_with("claim-rank") && has_living_claimant(path)) run.state = Run::State::lives;
}

bool is_claim(const std::string& path) {
  return path.compare(path.rfind('/') + 1, 10, "claim-rank") == 0;
}

void look_into(Run& run, const struct stat& folder, const std::vector<std::string>& names) {
  run.state = Run::State::dead;
  run.last_sign_ns = modified_ns(folder);
  for (const std::string& name : names) {
    add_entry(run, name);
    if (run.state == Run::State::refused) return;
  }
  // Nobody has claimed anything yet: it may begin just now.
  if (run.rings.empty() && std::none_of(run.notes.begin(), run.notes.end(), is_claim) &&
      now_ns(CLOCK_REALTIME) - modified_ns(folder) < longest_start_ns) {
    run.state = Run::State::lives;
  }
}

// "" or what stays.
std::string remove_file(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return path + ": " + event::error_text(errno) + ": not removed";
}

}  // namespace

bool has_living_owner(const std::string& ring_path) {
  OpenedRing opened = open_ring(ring_path);
  const bool lives = owner_lives(ring_path, opened);
  close_ring(opened);
  return lives;
}

bool is_runs_note(const std::string& path) {
  const std::string_view name =
      std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
  struct stat facts {};
  return name == "output" || name == "aside" || name == older_run_note ||
         name == private_workers_note || name == earlier_ranks_note || name == launcher_note ||
         name.starts_with("claim-rank") || name.ends_with(".files") ||
         (lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0);
}

bool has_living_claimant(const std::string& claim_path) {
  const int fd = event::open_high(claim_path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  char line[64] = {};
  struct stat facts {};
  const ssize_t got = event::uninterrupted([&] { return read(fd, line, sizeof line - 1); });
  const bool is_known = got > 0 && fstat(fd, &facts) == 0;
  close(fd);
  // Without its end of line it is the half of a pid, which may be another process's: whoever wrote
  // it was killed over it.
  if (!is_known || std::strchr(line, '\n') == nullptr) return false;
  char* behind_pid = nullptr;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(line, &behind_pid, 10));
  const std::uint64_t claimed_start = std::strtoull(behind_pid, nullptr, 10);
  if (claimed_start != 0) return process_lives(pid, claimed_start);
  // The claimant could not read when it began.
  const std::uint64_t start_time = start_time_of(pid);
  if (pid == 0 || !process_lives(pid, start_time)) return false;
  // A later process of that pid is younger than the claim. Ages, since the clock may have been set.
  const auto ticks_per_s = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const auto started_s =
      static_cast<std::int64_t>(start_time / std::max<std::uint64_t>(ticks_per_s, 1));
  const std::int64_t process_age_s = now_ns(CLOCK_BOOTTIME) / second_ns - started_s;
  const std::int64_t claim_age_s = (now_ns(CLOCK_REALTIME) - modified_ns(facts)) / second_ns;
  constexpr std::int64_t slack_s = 10;
  return process_age_s + slack_s >= claim_age_s;
}

namespace {

// `folder` becomes what the folder is; one that is there already is believed instead.
Run look_at(const std::string& path, std::optional<struct stat>& folder) {
  Run run;
  run.path = path;
  struct stat facts {};
  std::vector<std::string> names;
  const bool is_there = lstat(path.c_str(), &facts) == 0;
  if (is_there && !is_own(facts)) {
    refuse(run, path + ": belongs to another user");
  } else if (is_there && !S_ISDIR(facts.st_mode)) {
    refuse(run, path + ": is no folder of a run");
  } else if (!is_there || !names_in(path, names)) {
    if (errno != ENOENT) refuse(run, path + ": " + event::error_text(errno));
  } else {
    if (!folder) folder = facts;
    look_into(run, *folder, names);
  }
  return run;
}

// "" where it may be removed.
std::string why_not(const Run& run) {
  if (run.state == Run::State::refused) return run.problem;
  if (run.state == Run::State::lives) return run.path + ": its run goes on: not removed";
  return {};
}

bool is_movers_note(const std::string& path) {
  return path.compare(path.rfind('/') + 1, std::string::npos, MoversNote::name) == 0;
}

}  // namespace

Run look_at_run(const std::string& path) {
  std::optional<struct stat> folder;
  return look_at(path, folder);
}

std::string remove_dead_run(const std::string& path) {
  std::optional<struct stat> folder;
  Run run = look_at(path, folder);
  if (run.state != Run::State::dead) return why_not(run);
  const MoversNote movers_note(path);
  if (!movers_note.is_ours()) return path + ": another moves or removes it: not removed";
  // Its folder may be a new run's since. Our note has made it younger, which says nothing of a run.
  run = look_at(path, folder);
  if (run.state != Run::State::dead) {
    movers_note.remove();
    return why_not(run);
  }
  std::string problem;
  // Claims last: where only they are left, the next run of this key sees that nothing is.
  std::erase_if(run.notes, is_movers_note);
  std::stable_partition(run.notes.begin(), run.notes.end(),
                        [](const std::string& note) { return !is_claim(note); });
  for (const auto* files : {&run.rings, &run.notes}) {
    for (const std::string& file : *files) {
      if (problem.empty()) problem = remove_file(file);
    }
  }
  movers_note.remove();
  // Not empty: a process of the same run has begun meanwhile.
  if (problem.empty() && rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY) {
    problem = path + ": " + event::error_text(errno) + ": not removed";
  }
  return problem;
}

namespace {

struct OtherRun {
  std::string path;
  std::uint64_t ring_bytes = 0;
};

// Those that take most first. Where there are more than there is time to look at, the next process
// begins elsewhere.
std::vector<OtherRun> other_runs(const std::string& users_folder, const std::string& own_run,
                                 std::uint64_t end_ns) {
  std::vector<OtherRun> runs;
  std::vector<std::string> names;
  names_in(users_folder, names);
  const auto any = event::clock_ns(CLOCK_MONOTONIC) % std::max<std::size_t>(names.size(), 1);
  std::rotate(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(any), names.end());
  for (const std::string& name : names) {
    if (event::clock_ns(CLOCK_MONOTONIC) >= end_ns) break;
    OtherRun run{users_folder + "/" + name};
    if (run.path == own_run) continue;
    std::vector<std::string> files;
    names_in(run.path, files);
    for (const std::string& file : files) {
      struct stat facts {};
      const bool counts = is_ring_name(file) && lstat((run.path + "/" + file).c_str(), &facts) == 0;
      if (counts) run.ring_bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512;
    }
    runs.push_back(std::move(run));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const OtherRun& one, const OtherRun& other) {
    return one.ring_bytes > other.ring_bytes;
  });
  return runs;
}

// Of its notes `traceagent recover` needs only those that tell of killed processes. Where pids are
// others it may have begun just now.
bool is_of_no_use(const Run& run, std::int64_t age_ns) noexcept {
  return run.rings.empty() && run.private_killed.count() == 0 && age_ns > longest_start_ns;
}

// Those that there is no time for stay as they are, and take what they take.
void give_back_unused_of(const Run& run, std::uint64_t end_ns, OldRuns& old) {
  ++old.dead_runs;
  old.dead_rings += run.rings.size();
  for (const std::string& ring : run.rings) {
    struct stat facts {};
    const bool is_there = lstat(ring.c_str(), &facts) == 0;
    const std::uint64_t bytes = is_there ? static_cast<std::uint64_t>(facts.st_blocks) * 512 : 0;
    const bool has_time = event::clock_ns(CLOCK_MONOTONIC) < end_ns;
    const std::uint64_t left_bytes = has_time ? give_back_unused(ring) : bytes;
    old.dead_bytes += left_bytes;
    old.given_back_bytes += bytes - std::min(bytes, left_bytes);
  }
}

}  // namespace

OldRuns remove_old_runs(const std::string& users_folder, const std::string& own_run,
                        std::uint64_t keep_ns, std::uint64_t patience_ns) {
  OldRuns old;
  const std::uint64_t begin_ns = event::clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t end_ns = begin_ns + patience_ns;
  for (const OtherRun& other : other_runs(users_folder, own_run, begin_ns + patience_ns / 2)) {
    if (event::clock_ns(CLOCK_MONOTONIC) >= end_ns) break;
    const Run run = look_at_run(other.path);
    if (run.state != Run::State::dead) continue;
    const std::int64_t age_ns = now_ns(CLOCK_REALTIME) - run.last_sign_ns;
    const bool is_old = keep_ns != 0 && age_ns > 0 && static_cast<std::uint64_t>(age_ns) > keep_ns;
    if ((is_old || is_of_no_use(run, age_ns)) && remove_dead_run(other.path).empty()) {
      old.removed_rings += run.rings.size();
      old.removed_bytes += run.ring_bytes;
    } else {
      give_back_unused_of(run, end_ns, old);
    }
  }
  return old;
}

std::uint64_t bytes_of_other_runs(const std::string& users_folder, const std::string& own_run,
                                  std::uint64_t patience_ns) {
  std::uint64_t bytes = 0;
  const std::uint64_t end_ns = event::clock_ns(CLOCK_MONOTONIC) + patience_ns;
  for (const OtherRun& run : other_runs(users_folder, own_run, end_ns)) bytes += run.ring_bytes;
  return bytes;
}

}  // namespace traceagent::ring
