#include "tools/import/file_state.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

namespace traceagent::tools {

namespace {

constexpr std::int64_t settling_ns = 100'000'000;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileState state_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  FileState state;
  state.is_regular = S_ISREG(status.st_mode);
  state.device = status.st_dev;
  state.inode = status.st_ino;
  state.bytes = static_cast<std::uint64_t>(status.st_size);
  state.modified_ns = ns_of(status.st_mtim);
  state.changed_ns = ns_of(status.st_ctim);
  state.is_settled = ns_of(now) - std::max(state.modified_ns, state.changed_ns) > settling_ns;
  return state;
}

bool is_unchanged(const FileState& before, const FileState& now) {
  return before.is_settled && before.is_regular == now.is_regular && before.device == now.device &&
         before.inode == now.inode && before.bytes == now.bytes &&
         before.modified_ns == now.modified_ns && before.changed_ns == now.changed_ns;
}

}  // namespace traceagent::tools
