#include "agent/process/run_launcher.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/process/note_file.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::process {
namespace {

struct Process {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;  // 0: not known
  bool has_ended() const noexcept {
    return start_time != 0 && !ring::process_lives(pid, start_time);
  }
};

// As a line: the pid namespace, then pid and start of each.
struct Note {
  std::uint64_t made_in = 0;  // 0: there is none
  Process launcher, parent;
};

std::string path_of(const RunFolder& folder) { return folder.path + "/" + ring::launcher_note; }

Process process_of(int pid) {
  if (pid <= 0) return {};
  const auto known_pid = static_cast<std::uint32_t>(pid);
  return {known_pid, ring::start_time_of(known_pid)};
}

std::string in_words(const Process& process) {
  return " " + std::to_string(process.pid) + " " + std::to_string(process.start_time);
}

Process read_process(char*& at) {
  Process process;
  process.pid = static_cast<std::uint32_t>(std::strtoul(at, &at, 10));
  process.start_time = std::strtoull(at, &at, 10);
  return process;
}

// Of this pid namespace alone.
Note read(const RunFolder& folder) {
  std::string text = read_note(path_of(folder));
  // The half of it that a killed process wrote is nobody's.
  if (text.empty() || text.back() != '\n') return {};
  char* at = text.data();
  Note note;
  note.made_in = std::strtoull(at, &at, 10);
  if (note.made_in == 0 || note.made_in != ring::namespace_of_host()) return {};
  note.launcher = read_process(at);
  note.parent = read_process(at);
  return note;
}

}  // namespace

void note_launcher(const RunFolder& folder, const Claimant& claimant) {
  const std::uint64_t here = ring::namespace_of_host();
  const Process launcher = process_of(claimant.launcher_pid);
  const Process parent = process_of(claimant.family.size() < 2 ? 0 : claimant.family[1].pid);
  if (here == 0 || (launcher.start_time == 0 && parent.start_time == 0)) return;
  make_note(path_of(folder), std::to_string(here) + in_words(launcher) + in_words(parent) + "\n");
}

bool has_lost_launcher(const RunFolder& folder) {
  const Note note = read(folder);
  return note.launcher.has_ended() || note.parent.has_ended();
}

std::int64_t rank_start_ns(const RunFolder& folder, const Claimant& claimant) {
  const Note note = read(folder);
  for (std::size_t i = 1; note.parent.start_time != 0 && i < claimant.family.size(); ++i) {
    const bool is_parent = static_cast<std::uint32_t>(claimant.family[i].pid) == note.parent.pid;
    if (is_parent && !note.parent.has_ended()) return claimant.family[i - 1].start_ns;
  }
  return claimant.rank_start_ns;
}

}  // namespace traceagent::process
