#include "agent/trace/delivery_lock.hpp"

#include <cerrno>

#include "agent/event/high_descriptor.hpp"
#include "agent/trace/open_file_lock.hpp"

namespace traceagent::trace {

DeliveryLock::DeliveryLock(const std::string& path, Kind kind) noexcept {
  const bool is_alone = kind == Kind::leave_out;
  // A lock for reading wants the file open to read, one for writing open to write.
  const int access = is_alone ? O_RDWR : O_RDONLY;
  fd_ = event::open_high(path.c_str(), access | O_NOFOLLOW | O_NONBLOCK);
  if (fd_ < 0) {
    is_held_ = errno == ENOENT || errno == ELOOP;  // nothing to be locked; else we do not know
    problem_ = is_held_ ? 0 : errno;
  } else if (!lock_open_file(fd_, is_alone ? F_WRLCK : F_RDLCK)) {
    is_held_ = errno != EAGAIN && errno != EACCES;
  }
}

DeliveryLock::~DeliveryLock() {
  if (fd_ >= 0) unlock_and_close(fd_);
}

}  // namespace traceagent::trace
