#include "agent/ring/movers_note.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::ring {

MoversNote::MoversNote(const std::string& folder)
    : path_(folder + "/" + name),
      fd_(event::open_high(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600)) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  has_lock_ = fd_ >= 0 && fcntl(fd_, F_SETLK, &lock) == 0;
}

MoversNote::~MoversNote() {
  if (fd_ >= 0) close(fd_);
}

bool MoversNote::is_ours() const noexcept {
  struct stat ours {};
  struct stat there {};
  return has_lock_ && fstat(fd_, &ours) == 0 && lstat(path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

bool MoversNote::write_text(const std::string& text) const noexcept {
  if (ftruncate(fd_, 0) != 0) return false;
  const ssize_t written =
      event::uninterrupted([&] { return write(fd_, text.data(), text.size()); });
  return written == static_cast<ssize_t>(text.size());
}

void MoversNote::remove() const noexcept { unlink(path_.c_str()); }

}  // namespace traceagent::ring
