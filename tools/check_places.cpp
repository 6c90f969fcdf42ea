#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "agent/ring/ring_file.hpp"
#include "agent/trace/output_file.hpp"
#include "config/name_template.hpp"
#include "config/options.hpp"
#include "tools/check_report.hpp"
#include "tools/dead_rings.hpp"
#include "tools/dead_runs.hpp"
#include "tools/losses.hpp"
#include "tools/quantities.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

// Folders that do not exist yet are made by the agent: the nearest that exists decides.
fs::path existing_ancestor(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  return path;
}

// By writing, not by asking for permission: quotas, read-only mounts and NFS answer only then.
std::string cannot_write(const fs::path& folder) {
  trace::OutputFile file;
  return file.open((folder / "traceagent-check").string()) ? "" : file.error();
}

bool has_visible_files(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) {
      return true;
    }
  }
  return false;
}

void check_output(const config::Options& options, CheckReport& report) {
  config::NameVariables variables;
  // The agent makes up a name that no folder has.
  variables.run_name = options.run_name.empty() ? "traceagent-check" : options.run_name;
  const config::FormattedName name = config::format_name(options.output_folder, variables);
  const fs::path folder = fs::absolute(name.name);
  const fs::path ancestor = existing_ancestor(folder);
  const bool is_same_run =
      !options.run_name.empty() || options.output_folder.find("{run_name") == std::string::npos;
  const std::string problem = cannot_write(ancestor);
  if (!name.problem.empty()) {
    report.no("output folder", options.output_folder, name.problem);
  } else if (!problem.empty()) {
    report.no("output folder", problem, "");
  } else if (is_same_run && !options.output_overwrite && has_visible_files(folder)) {
    report.no("output folder", folder.string() + " holds files",
              "set output.overwrite, or another output.folder");
  } else {
    struct statvfs space {};
    const bool is_known = statvfs(ancestor.c_str(), &space) == 0;
    const std::string free_space = is_known
                                       ? size_in_words(space.f_bavail * space.f_frsize) + " free"
                                       : "how much is free is not known";
    report.yes("output folder",
               options.output_folder + " in " + ancestor.string() + ": writable, " + free_space);
  }
}

// Why a job makes no rings there (make_run_folder() in agent/process/run_folder.cpp), or "".
std::string why_not_own(const std::string& users_folder) {
  struct stat facts {};
  if (lstat(users_folder.c_str(), &facts) != 0) {
    return errno == ENOENT ? "" : users_folder + ": " + std::strerror(errno);
  }
  if (!S_ISDIR(facts.st_mode)) return users_folder + " is no folder itself";
  if (facts.st_uid == geteuid()) return "";
  return users_folder + " belongs to another user (" + std::to_string(facts.st_uid) + ")";
}

void check_ring(const config::Options& options, CheckReport& report) {
  struct statvfs space {};
  const std::string& folder = options.ring_folder;
  if (statvfs(folder.c_str(), &space) != 0 || access(folder.c_str(), W_OK | X_OK) != 0) {
    report.missing_help("ring folder", folder + " cannot be written to",
                        "what is recorded will not survive a kill; set ring.folder");
    return;
  }
  if (const std::string why = why_not_own(users_ring_folder(folder)); !why.empty()) {
    report.missing_help("ring folder", why,
                        "what is recorded will not survive a kill; set ring.folder");
    return;
  }
  const std::uint64_t free_bytes = space.f_bavail * space.f_frsize;
  const std::uint64_t ring_bytes = ring::bytes_for_ring(space, options.ring_size);
  const std::string detail = folder + ": " + size_in_words(space.f_blocks * space.f_frsize) + ", " +
                             size_in_words(free_bytes) + " free; a process takes " +
                             size_in_words(ring_bytes);
  if (ring_bytes == 0) {
    report.missing_help("ring folder", detail,
                        "that is left to others: what is recorded will not survive a kill; set "
                        "ring.folder, or see traceagent recover --list");
  } else if (ring_bytes < options.ring_size) {
    report.missing_help("ring folder", detail,
                        "rings will be smaller than ring.size; enlarge it (docker: --shm-size), or "
                        "set ring.folder");
  } else {
    report.yes("ring folder", detail);
  }
}

void check_dead_jobs(const config::Options& options, CheckReport& report) {
  const std::string folder = users_ring_folder(options.ring_folder);
  const DeadRunCount dead = count_dead_runs(folder);
  if (dead.rings == 0) {
    report.yes("dead jobs", "no ring of one in " + options.ring_folder);
    return;
  }
  report.missing_help("dead jobs",
                      in_words(dead.rings, "ring") + " of " + in_words(dead.runs, "run") + " in " +
                          folder + " take " + size_in_words(dead.bytes),
                      "traceagent recover --list");
}

}  // namespace

void check_places(CheckReport& report) {
  report.section("Options and places");
  const config::Loaded loaded = config::load(config::Environment::of_process());
  for (const config::Problem& problem : loaded.problems) {
    report.no("options", problem.line, "");
  }
  if (loaded.problems.empty()) {
    report.yes("options", loaded.config_path.empty() ? "nothing wrong in the environment"
                                                     : "nothing wrong in " + loaded.config_path);
  }
  if (!loaded.options.enabled) {
    report.no("tracing", "enabled is false", "unset TRACEAGENT_ENABLED");
  }
  check_output(loaded.options, report);
  check_ring(loaded.options, report);
  check_dead_jobs(loaded.options, report);
}

}  // namespace traceagent::tools
