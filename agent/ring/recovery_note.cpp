#include "agent/ring/recovery_note.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/event/high_descriptor.hpp"

namespace traceagent::ring {
namespace {

struct flock whole_file() noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::uint32_t holder_of(int fd) noexcept {
  struct flock lock = whole_file();
  const bool is_held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
  return is_held ? static_cast<std::uint32_t>(lock.l_pid) : 0;
}

}  // namespace

RecoveryNote::~RecoveryNote() {
  if (has_lock_ && is_there()) unlink(path_.c_str());
  leave();
}

bool RecoveryNote::take() noexcept {
  constexpr int most_attempts = 100;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (fd_ < 0) fd_ = event::open_high(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd_ < 0) return true;
    struct flock lock = whole_file();
    if (fcntl(fd_, F_SETLK, &lock) != 0) {
      const bool is_held = errno == EAGAIN || errno == EACCES;
      holder_ = is_held ? holder_of(fd_) : 0;
      if (!is_held) leave();  // a file system without locks
      return !is_held;
    }
    has_lock_ = is_there();
    if (has_lock_) return true;
    leave();  // whoever had it has removed it
  }
  return true;
}

bool RecoveryNote::is_there() const noexcept {
  struct stat ours {};
  struct stat there {};
  return fstat(fd_, &ours) == 0 && lstat(path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void RecoveryNote::leave() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace traceagent::ring
