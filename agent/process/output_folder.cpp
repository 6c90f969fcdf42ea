#include "agent/process/output_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/keeper.hpp"
#include "agent/process/note_file.hpp"
#include "agent/process/older_run.hpp"
#include "agent/process/run_files.hpp"
#include "agent/ring/dead_runs.hpp"

namespace traceagent::process {
namespace {

constexpr const char* usable = "usable";
constexpr const char* refused = "refused";

// The run's index alone is no trace. (d_type is not known on all file systems.)
bool is_index_folder(const std::string& path) {
  struct stat facts {};
  return path.ends_with("/index") && lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// What the job's own profiler may have written there before this process began.
bool is_included(const char* name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name, 0) == 0;
  });
}

std::string foreign_file_in(const std::string& folder, const std::string& run_key,
                            const std::vector<std::string>& included, EarlierRun& earlier) {
  const event::Folder entries = event::open_folder_high(folder.c_str());
  if (entries == nullptr) return {};
  std::string foreign;
  // The job waits, and a folder to be overwritten may hold anything.
  constexpr std::uint64_t patience_ns = 1'000'000'000;
  const std::uint64_t end_ns = event::clock_ns(CLOCK_MONOTONIC) + patience_ns;
  while (const dirent* entry = readdir(entries.get())) {
    // Hidden files do not count, as in Composer; ours that are being written are hidden. What a
    // keeper has said of an earlier run is no trace either.
    if (entry->d_name[0] == '.' || is_keeper_log(entry->d_name)) continue;
    const std::string path = folder + "/" + entry->d_name;
    if (is_index_folder(path)) continue;
    const bool is_expected = is_included(entry->d_name, included);
    if (is_expected && event::clock_ns(CLOCK_MONOTONIC) >= end_ns) continue;
    const std::optional<RunFile> file = run_file(path, run_key);
    if (file) earlier.look_at(*file);
    if (file || is_expected) continue;
    foreign = entry->d_name;
    break;
  }
  return foreign;
}

std::string read_verdict(const std::string& path) {
  char text[16] = {};
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : std::string();
}

// The first process looks while we wait, at most a second (a folder on a slow network): after that
// it is taken as usable, and no file is ever replaced anyway.
std::string wait_for_verdict(const std::string& path) {
  const timespec pause{0, 2'000'000};
  for (int i = 0; i < 500; ++i) {
    const std::string verdict = read_verdict(path);
    if (verdict == usable || verdict == refused) return verdict;
    nanosleep(&pause, nullptr);
  }
  return usable;
}

}  // namespace

FolderVerdict check_output_folder(const RunFolder& run, const std::string& folder,
                                  const std::string& run_key,
                                  const std::vector<std::string>& included, EarlierRun& earlier,
                                  int pid) {
  const std::string path = run.path + "/output";
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const int fd = run.path.empty() ? -1 : event::open_high(path.c_str(), flags, 0600);
  const bool is_second = fd < 0 && !run.path.empty() && errno == EEXIST;
  const std::string ranks_note = run.path + "/" + ring::earlier_ranks_note;
  if (is_second) {
    const bool is_usable = wait_for_verdict(path) == usable;
    earlier.read(read_note(ranks_note));
    // It is asked for as the run ends.
    if (earlier.until_ns() != 0) note_older_run(run, {earlier.until_ns(), pid});
    return {is_usable, 0, {}};
  }
  const std::string foreign = foreign_file_in(folder, run_key, included, earlier);
  const std::int64_t until_ns = earlier.until_ns();
  // Before the others go on. Where a killed run was set aside, that is noted already.
  if (fd >= 0 && until_ns != 0) note_older_run(run, {until_ns, pid});
  if (const std::string seen = earlier.in_note(); fd >= 0 && !seen.empty()) {
    make_note(ranks_note, seen);
  }
  const std::string verdict = foreign.empty() ? usable : refused;
  if (fd >= 0) {
    // In tmpfs; without the line, or with half of it, the others take the folder as usable.
    const ssize_t written = write(fd, verdict.data(), verdict.size());
    static_cast<void>(written);
    close(fd);
  }
  if (foreign.empty()) return {true, run.path.empty() ? until_ns : 0, {}};
  return {false, 0,
          "output.folder: " + folder + ": holds files already (" + foreign +
              "), tracing is off: choose another folder or set "
              "TRACEAGENT_OUTPUT_OVERWRITE=true"};
}

}  // namespace traceagent::process
