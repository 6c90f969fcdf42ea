#include "agent/event/high_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace traceagent::event {

int off_low_numbers(int descriptor) noexcept {
  if (descriptor < 0 || descriptor >= lowest_high_descriptor) return descriptor;
  const int saved_errno = errno;
  int error = 0;
  for (const int lowest : {lowest_high_descriptor, STDERR_FILENO + 1}) {
    const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
    error = other < 0 ? errno : 0;
    if (other < 0) continue;
    close(descriptor);
    descriptor = other;
    break;
  }
  errno = saved_errno;
  if (error != EMFILE) return descriptor;
  close(descriptor);
  errno = EMFILE;
  return -1;
}

}  // namespace traceagent::event
