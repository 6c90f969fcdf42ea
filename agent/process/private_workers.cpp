#include "agent/process/private_workers.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "agent/process/note_file.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t most_dead_rings = 16;
// Of small rings more: some die before any is written.
constexpr std::uint64_t usual_dead_bytes = 256 << 20;

// Of processes, by pid and start.
using Processes = std::set<std::pair<std::uint32_t, std::uint64_t>>;

std::string note_path(const RunFolder& folder, const char* name) {
  return folder.path + "/" + name;
}

void note(const RunFolder& folder, const char* name, int pid) {
  if (folder.path.empty()) return;
  const std::uint64_t start_time = ring::start_time_of(static_cast<std::uint32_t>(pid));
  add_to_note(note_path(folder, name),
              std::to_string(pid) + " " + std::to_string(start_time) + "\n");
}

Processes noted(const RunFolder& folder, const char* name) {
  Processes processes;
  const std::string text = read_note(note_path(folder, name));
  for (std::size_t at = 0; at < text.size();) {
    char* behind_pid = nullptr;
    const auto pid = static_cast<std::uint32_t>(std::strtoul(&text[at], &behind_pid, 10));
    processes.emplace(pid, std::strtoull(behind_pid, nullptr, 10));
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  return processes;
}

}  // namespace

std::uint64_t most_dead_bytes(const RunFolder& folder, std::uint64_t ring_bytes) noexcept {
  const std::uint64_t bytes = std::max(most_dead_rings * ring_bytes, usual_dead_bytes);
  struct statvfs space {};
  // Without blocks: a tmpfs without a limit.
  if (statvfs(folder.path.c_str(), &space) != 0 || space.f_blocks == 0) return bytes;
  return std::min<std::uint64_t>(bytes, space.f_blocks * space.f_frsize / 4);
}

bool has_more_dead_than(const RunFolder& folder, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (const std::string& path : ring_paths(folder)) {
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) continue;
    ring::OpenedRing opened = ring::open_ring(path);
    ring::close_ring(opened);
    if (!opened.owner_alive) sum += static_cast<std::uint64_t>(facts.st_blocks) * 512;
    if (sum > bytes) return true;
  }
  return false;
}

void note_private_worker(const RunFolder& folder, int pid) {
  be_first(folder, tidied_topic);
  note(folder, ring::private_workers_note, pid);
}

void note_private_worker_ended(const RunFolder& folder, int pid) {
  note(folder, ring::private_workers_ended_note, pid);
}

std::size_t private_workers_killed(const RunFolder& folder) {
  if (folder.path.empty()) return 0;
  const Processes ended = noted(folder, ring::private_workers_ended_note);
  const Processes all = noted(folder, ring::private_workers_note);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& process) {
    return ended.count(process) == 0 && !ring::process_lives(process.first, process.second);
  }));
}

void say_private_workers_killed(const RunFolder& folder) {
  const std::size_t killed = private_workers_killed(folder);
  if (killed == 0) return;
  say_problem(std::to_string(killed) + (killed == 1 ? " worker that was" : " workers that were") +
              " killed had recorded in private memory: what was not written yet is lost");
}

}  // namespace traceagent::process
