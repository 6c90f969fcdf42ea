#include "agent/process/last_thread.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace traceagent::process {
namespace {

// Field 3 of stat, after the name in parentheses, which may hold parentheses itself.
bool is_zombie(const char* thread_id) {
  const std::string path = std::string("/proc/self/task/") + thread_id + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;  // gone since
  char text[256] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  const char* end_of_name = got > 0 ? std::strrchr(text, ')') : nullptr;
  return end_of_name != nullptr && end_of_name[1] == ' ' && end_of_name[2] == 'Z';
}

}  // namespace

bool is_last_thread(long other) noexcept try {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return false;
  const long own = syscall(SYS_gettid);
  bool is_last = true;
  while (const dirent* entry = readdir(threads)) {
    const long id = std::strtol(entry->d_name, nullptr, 10);
    if (entry->d_name[0] == '.' || id == own || id == other) continue;
    if (is_zombie(entry->d_name)) continue;
    is_last = false;
    break;
  }
  closedir(threads);
  return is_last;
} catch (...) {
  return false;
}

}  // namespace traceagent::process
