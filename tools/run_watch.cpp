#include "tools/run_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tools/dead_rings.hpp"

namespace traceagent::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto look_period = std::chrono::milliseconds(200);
// Between two processes of a run (a launcher's restart), and while the last one's death is seen by
// a merge that is under way.
constexpr auto patience = std::chrono::seconds(1);

enum class Run { gone, lives, dead };

Run look_at(const std::string& run_folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_folder, ignored)) return Run::gone;
  const DeadRings rings = find_dead_rings({run_folder});
  if (!rings.left.empty()) return Run::lives;
  return rings.paths.empty() ? Run::gone : Run::dead;
}

}  // namespace

bool wait_for_end_of_run(const std::string& run_folder) {
  Run last = Run::lives;
  Clock::time_point since = Clock::now();
  while (true) {
    const Run now = look_at(run_folder);
    if (now != last) since = Clock::now();
    last = now;
    if (now != Run::lives && Clock::now() - since >= patience) return now == Run::dead;
    std::this_thread::sleep_for(look_period);
  }
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
