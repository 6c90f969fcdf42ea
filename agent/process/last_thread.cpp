#include "agent/process/last_thread.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::process {
namespace {

// "<id> (<name>) <state> ...": the name may hold parentheses itself. What cannot be read, for want
// of a descriptor for example, lives: the process ends when all have ended.
bool has_ended_or_is_ours(const char* thread_id) {
  const std::string path = std::string("/proc/self/task/") + thread_id + "/stat";
  const int fd = event::uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0) return errno == ENOENT;  // gone since
  char text[256] = {};
  const ssize_t got = event::uninterrupted([&] { return read(fd, text, sizeof text - 1); });
  const bool is_gone = got < 0 && errno == ESRCH;
  close(fd);
  if (is_gone) return true;
  const char* name = got > 0 ? std::strchr(text, '(') : nullptr;
  const char* end_of_name = name != nullptr ? std::strrchr(name, ')') : nullptr;
  if (end_of_name == nullptr) return false;
  const std::string_view own(name + 1, static_cast<std::size_t>(end_of_name - name - 1));
  const bool is_zombie = end_of_name[1] == ' ' && end_of_name[2] == 'Z';
  return is_zombie || own == drain_thread_name || own == device_thread_name ||
         own == counter_thread_name || own == gpu_counter_thread_name;
}

// A link that goes when a thread has ended. Without a descriptor, unlike all that follows: what the
// job opens in this moment would get another number than without us.
bool main_thread_lives() {
  const std::string link = "/proc/self/task/" + std::to_string(getpid()) + "/cwd";
  char first = 0;
  return readlink(link.c_str(), &first, 1) > 0;
}

}  // namespace

bool is_last_thread() noexcept try {
  if (main_thread_lives()) return false;
  const event::Folder threads = event::open_folder_high("/proc/self/task");
  if (threads == nullptr) return false;
  bool is_last = true;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(threads.get());
    if (entry == nullptr) is_last = is_last && errno == 0;
    if (entry == nullptr || !is_last) break;
    is_last = entry->d_name[0] == '.' || has_ended_or_is_ours(entry->d_name);
  }
  return is_last;
} catch (...) {
  return false;
}

}  // namespace traceagent::process
