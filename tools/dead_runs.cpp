#include "tools/dead_runs.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "agent/ring/dead_runs.hpp"
#include "agent/ring/ring_file.hpp"
#include "tools/command_line.hpp"
#include "tools/losses.hpp"
#include "tools/quantities.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

std::int64_t age_ns(const ring::Run& run) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - run.last_sign_ns;
}

// "4 rings, 256 MiB, 3 h old"
std::string describe(const ring::Run& run) {
  return in_words(run.rings.size(), "ring") + ", " + size_in_words(run.ring_bytes) + ", " +
         age_in_words(age_ns(run)) + " old" +
         (run.private_killed.count() == 0
              ? ""
              : ", nothing of " + ring::in_words(run.private_killed) + " that had private memory");
}

std::string owner_of(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return "?";
  const passwd* user = getpwuid(facts.st_uid);
  return user != nullptr ? user->pw_name : std::to_string(facts.st_uid);
}

// Of the first ring that tells; a ring that is damaged may say anything.
std::string command_line_of(const ring::Run& run) {
  constexpr std::size_t longest = 200;
  std::string line;
  for (const std::string& path : run.rings) {
    ring::OpenedRing opened = ring::open_ring(path);
    if (opened.ring.valid() && opened.ring.header().ready.load(std::memory_order_acquire) != 0 &&
        opened.ring.header().identity.checksum == ring::identity_checksum(opened.ring)) {
      line = opened.ring.name(opened.ring.header().identity.command_line);
    }
    ring::close_ring(opened);
    if (!line.empty()) break;
  }
  if (line.size() > longest) line = line.substr(0, longest) + "...";
  std::replace(line.begin(), line.end(), '\n', '?');
  return line.empty() ? "(unknown)" : line;
}

// As a word of a shell's.
std::string quoted(const std::string& path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+,:@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool is_a_run(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".ring") || name.starts_with("claim-rank")) return true;
  }
  return false;
}

// From the root, and without a slash at its end.
fs::path whole_path(const std::string& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

// "traceagent-1000", which holds a user's runs.
bool is_users_folder(const std::string& folder) {
  return whole_path(folder).filename().string().starts_with("traceagent-");
}

// What is removed lies where rings are made, whatever the names of its files are like.
bool is_run_of_this_user(const std::string& path) {
  return whole_path(path).parent_path().filename() == "traceagent-" + std::to_string(geteuid());
}

// Why nothing can be recovered of it: damaged, or of another version; or empty. Of one that was not
// made to its end there is nothing, and `recover` says so.
std::string fault_of(const std::string& ring_path) {
  ring::OpenedRing opened = ring::open_ring(ring_path);
  std::string fault =
      opened.ring.valid() || opened.is_unmade || opened.is_gone ? "" : opened.problem;
  ring::close_ring(opened);
  return fault.substr(0, fault.rfind(": see traceagent recover --list"));
}

// Its process has ended by itself, and its folder did not take all.
bool could_not_write(const std::string& ring_path) {
  ring::OpenedRing opened = ring::open_ring(ring_path);
  const bool is_so = opened.ring.valid() && ring::has_finished(opened.ring) &&
                     ring::has_unwritten_window(opened.ring);
  ring::close_ring(opened);
  return is_so;
}

// No command that would be refused.
void print(const ring::Run& run) {
  std::cout << run.path << ": " << describe(run) << ", of " << owner_of(run.path) << "\n"
            << "  " << command_line_of(run) << "\n";
  std::size_t lost = 0;
  for (const std::string& ring : run.rings) {
    const std::string fault = fault_of(ring);
    if (fault.empty()) continue;
    std::cout << "  " << fault << ": nothing of it can be recovered\n";
    ++lost;
  }
  if (lost == 0 || lost < run.rings.size()) {
    std::cout << "  traceagent recover " << quoted(run.path) << "\n";
    if (std::ranges::any_of(run.rings, could_not_write)) {
      std::cout << "  traceagent recover " << quoted(run.path)
                << " --output FOLDER  (if its own, which could not be written, still cannot)\n";
    }
  }
  if (is_run_of_this_user(run.path)) {
    std::cout << "  traceagent recover --discard " << quoted(run.path) << "\n";
  }
}

// True when it is gone, or left for good reason.
bool discard(const std::string& path, std::uint64_t older_than_ns) {
  const ring::Run run = ring::look_at_run(path);
  if (run.state == ring::Run::State::gone) return true;
  if (run.state == ring::Run::State::refused) {
    say(run.problem + ": nothing of its run is removed");
    return false;
  }
  if (!is_run_of_this_user(path)) {
    say(path + ": is no run of yours, which is a folder in traceagent-" +
        std::to_string(geteuid()) + ": nothing is removed: see traceagent recover --list");
    return false;
  }
  if (run.state == ring::Run::State::lives) {
    std::cout << path << ": left: its run still goes on\n";
    return true;
  }
  if (const std::int64_t age = age_ns(run);
      older_than_ns != 0 && (age < 0 || static_cast<std::uint64_t>(age) < older_than_ns)) {
    std::cout << path << ": left: " << describe(run) << "\n";
    return true;
  }
  const std::string problem = ring::remove_dead_run(path);
  if (!problem.empty()) {
    say(problem);
    return false;
  }
  std::cout << path << ": removed: " << describe(run) << "\n";
  return true;
}

}  // namespace

std::vector<std::string> runs_in(const std::string& folder) {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() != fs::file_type::directory || is_a_run(folder)) {
    return {folder};
  }
  std::error_code ignored;
  // In ring.folder itself it is the user's own that the runs are in, beside other people's files.
  const fs::path users = fs::path(folder) / ("traceagent-" + std::to_string(geteuid()));
  const bool has_users = fs::is_directory(fs::symlink_status(users, ignored));
  std::vector<std::string> runs = has_users ? runs_in(users.string()) : std::vector<std::string>{};
  std::vector<std::string> others;  // a damaged run, where they are a user's
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    (is_a_run(at->path().string()) ? runs : others).push_back(at->path().string());
  }
  // A folder of traces has none, and names of files that are no runs' help nobody.
  const bool is_users = !has_users && (!runs.empty() || is_users_folder(folder));
  if (is_users) runs.insert(runs.end(), others.begin(), others.end());
  std::sort(runs.begin(), runs.end());
  return runs;
}

bool list_dead_runs(const std::vector<std::string>& folders) {
  bool ok = true;
  std::size_t dead = 0;
  for (const std::string& folder : folders) {
    for (const std::string& path : runs_in(folder)) {
      const ring::Run run = ring::look_at_run(path);
      if (run.state == ring::Run::State::refused) {
        say(run.problem);
        ok = false;
      }
      const bool is_told = run.rings.empty() && run.private_killed.count() == 0;
      if (run.state != ring::Run::State::dead || is_told) continue;
      print(run);
      ++dead;
    }
  }
  if (dead == 0 && ok) std::cout << folders.front() << ": no ring of a dead job\n";
  return ok;
}

bool discard_dead_runs(const std::vector<std::string>& folders, std::uint64_t older_than_ns) {
  bool ok = true;
  std::size_t seen = 0;
  for (const std::string& folder : folders) {
    for (const std::string& path : runs_in(folder)) {
      ok = discard(path, older_than_ns) && ok;
      ++seen;
    }
  }
  if (seen == 0) std::cout << folders.front() << ": no ring of a dead job\n";
  // The user's own, if that was the last run in it.
  for (const std::string& folder : folders) {
    if (is_users_folder(folder)) rmdir(folder.c_str());
  }
  return ok;
}

DeadRunCount count_dead_runs(const std::string& users_folder) {
  DeadRunCount count;
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(users_folder, ignored))) return count;
  for (const std::string& path : runs_in(users_folder)) {
    const ring::Run run = ring::look_at_run(path);
    if (run.state != ring::Run::State::dead || run.rings.empty()) continue;
    ++count.runs;
    count.rings += run.rings.size();
    count.bytes += run.ring_bytes;
  }
  return count;
}

}  // namespace traceagent::tools
