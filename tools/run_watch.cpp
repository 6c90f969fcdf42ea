#include "tools/run_watch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>

#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"
#include "tools/dead_rings.hpp"
#include "tools/followed_run.hpp"

namespace traceagent::tools {
namespace {

constexpr auto look_period = std::chrono::milliseconds(200);
// A second: between two processes of a run (a launcher's restart), and while the last one's death
// is seen by a merge that is under way. Counted, since a clock may be refused.
constexpr int looks_to_believe = 6;

enum class Run { gone, lives, dead };

Run look_at(const std::string& run_folder, const DeadRings& rings) {
  std::error_code ignored;
  if (run_folder.empty() || !std::filesystem::is_directory(run_folder, ignored)) return Run::gone;
  if (!rings.left.empty()) return Run::lives;
  // What cannot be read is not gone: who recovers says so.
  return rings.paths.empty() && rings.problems.empty() ? Run::gone : Run::dead;
}

bool is_ring_of(const std::string& path, std::uint32_t pid) {
  ring::OpenedRing opened = ring::open_ring(path);
  const bool is_its = opened.ring.valid() && opened.owner_alive &&
                      opened.ring.header().owner_pid == pid &&
                      opened.ring.header().owner_namespace == ring::namespace_of_host();
  ring::close_ring(opened);
  return is_its;
}

bool is_child_of(const std::string& run_folder, const DeadRings& rings) {
  const auto parent = static_cast<std::uint32_t>(getppid());
  for (const std::string& path : rings.left) {
    const std::string name = std::filesystem::path(path).filename().string();
    const bool may_be = name.find("-" + std::to_string(parent) + "-") != std::string::npos;
    if (may_be && is_ring_of(path, parent)) return true;
  }
  for (const ring::PrivateWorker& worker : ring::private_workers_of(run_folder).living) {
    if (worker.pid == parent && worker.pid_namespace == ring::pid_namespace()) return true;
  }
  return false;
}

}  // namespace

RunEnd wait_for_end_of_run(const FollowedRun& run) {
  Run last = Run::lives;
  for (int looks = 0; last == Run::lives || looks < looks_to_believe; ++looks) {
    if (looks > 0) std::this_thread::sleep_for(look_period);
    const std::string folder = run.name();
    const DeadRings rings = folder.empty() ? DeadRings{} : find_dead_rings({folder});
    const Run now = look_at(folder, rings);
    if (now == Run::lives && is_child_of(folder, rings)) return RunEnd::is_its_child;
    if (now != last) looks = 0;
    last = now;
  }
  return last == Run::dead ? RunEnd::left_rings : RunEnd::cleaned_up;
}

namespace {

std::string log_to_open;
int kept = -1;
int printed_before = -1;  // where it goes if there can be no log

void print_to(int file) {
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
}

void copy(int from, int to) {
  char bytes[4096];
  ssize_t got = 0;
  lseek(from, 0, SEEK_SET);
  while ((got = read(from, bytes, sizeof bytes)) > 0) {
    if (write(to, bytes, static_cast<std::size_t>(got)) != got) return;
  }
}

// Or -1: others may have put something else there, and a FIFO would hold us until it is read.
int open_regular(const std::string& path) {
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int file = open(path.c_str(), flags, 0666);
  struct stat facts {};
  if (file < 0 || (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode))) return file;
  close(file);
  return -1;
}

}  // namespace

void print_for(const std::string& log) {
  log_to_open = log;
  kept = memfd_create("traceagent-log", MFD_CLOEXEC);
  if (kept < 0) return open_log();
  printed_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  print_to(kept);
}

void open_log() {
  if (log_to_open.empty()) return;
  std::cout.flush();
  const std::string path = std::exchange(log_to_open, {});
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int log = open_regular(path);
  const int file = log < 0 ? printed_before : log;
  if (file < 0) return;
  if (kept >= 0) copy(kept, file);
  print_to(file);
  close(file);
}

}  // namespace traceagent::tools
