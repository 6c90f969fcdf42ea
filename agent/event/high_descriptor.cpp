#include "agent/event/high_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "agent/event/uninterrupted.hpp"

namespace traceagent::event {

int off_low_numbers(int descriptor) noexcept {
  if (descriptor < 0) return descriptor;
  const int saved_errno = errno;
  for (const int lowest : {lowest_high_descriptor, STDERR_FILENO + 1}) {
    if (descriptor >= lowest) break;
    const int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
    if (higher < 0) continue;
    close(descriptor);
    descriptor = higher;
    break;
  }
  errno = saved_errno;
  return descriptor;
}

int open_high(const char* path, int flags, mode_t mode) noexcept {
  return off_low_numbers(uninterrupted([&] { return open(path, flags | O_CLOEXEC, mode); }));
}

DIR* open_folder_high(const char* path) noexcept {
  const int descriptor = open_high(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  DIR* const entries = fdopendir(descriptor);
  if (entries != nullptr) return entries;
  const int saved_errno = errno;
  close(descriptor);
  errno = saved_errno;
  return nullptr;
}

}  // namespace traceagent::event
