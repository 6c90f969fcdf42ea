#include "tools/run_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tools/dead_rings.hpp"

namespace traceagent::tools {
namespace {

constexpr auto look_period = std::chrono::milliseconds(200);
// A second: between two processes of a run (a launcher's restart), and while the last one's death
// is seen by a merge that is under way. Counted, since a clock may be refused.
constexpr int looks_to_believe = 6;

enum class Run { gone, lives, dead };

Run look_at(const std::string& run_folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_folder, ignored)) return Run::gone;
  const DeadRings rings = find_dead_rings({run_folder});
  if (!rings.left.empty()) return Run::lives;
  // What cannot be read is not gone: who recovers says so.
  return rings.paths.empty() && rings.problems.empty() ? Run::gone : Run::dead;
}

}  // namespace

bool wait_for_end_of_run(const std::string& run_folder) {
  Run last = Run::lives;
  for (int looks = 0; last == Run::lives || looks < looks_to_believe; ++looks) {
    if (looks > 0) std::this_thread::sleep_for(look_period);
    const Run now = look_at(run_folder);
    if (now != last) looks = 0;
    last = now;
  }
  return last == Run::dead;
}

void print_into(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return;
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  close(file);
}

}  // namespace traceagent::tools
