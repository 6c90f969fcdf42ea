#include "agent/event/high_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

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

}  // namespace traceagent::event
