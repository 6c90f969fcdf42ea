#include "tools/open_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "agent/event/high_descriptor.hpp"

namespace traceagent::tools {

void allow_many_open_files() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

void make_room_for_open_files(std::size_t files) noexcept {
  constexpr std::size_t others = 64;
  constexpr std::size_t most = 1 << 16;
  const auto last =
      static_cast<int>(event::lowest_high_descriptor + std::min(files, most) + others);
  const int highest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, last);
  if (highest >= 0) close(highest);
}

}  // namespace traceagent::tools
