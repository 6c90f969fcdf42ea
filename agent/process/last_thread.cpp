#include "agent/process/last_thread.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
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
  const int fd = event::open_high(path.c_str(), O_RDONLY);
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

// The last of the 52 fields of its "stat", as wait(2) gives it; 0: it is not to be known.
int main_threads_code() noexcept {
  std::array<char, 1024> text{};
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", getpid());
  const int fd = event::open_high(path.data(), O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t got = event::uninterrupted([&] { return read(fd, text.data(), text.size()); });
  close(fd);
  std::string_view line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  line.remove_suffix(line.ends_with('\n') ? 1 : 0);
  int status = 0;
  const std::size_t last = line.rfind(' ') + 1;  // npos + 1 is 0
  std::from_chars(line.data() + last, line.data() + line.size(), status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
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

// Not pthread_exit but its system call alone may have ended the main thread, as programs without
// libc's threads do: then its code is the process's, and no handler runs. Of code 0 nobody can tell
// the two apart.
void end_as_last_thread() noexcept {
  const int code = main_threads_code();
  if (code != 0) {
    for (;;) syscall(SYS_exit_group, code);
  }
  // What libc does when the last thread ends. It would not come to that: CUPTI's threads stay.
  std::exit(0);
}

}  // namespace traceagent::process
