#pragma once
// Room on the disk for what will be told of queued files.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "agent/event/high_descriptor.hpp"
#include "agent/trace/file_size_limit.hpp"

namespace traceagent::trace {

// Behind the journal's end, so that the uploader can tell of what has arrived, and make room, where
// the disk is full of waiting files. Nothing is lost where the file system has no such thing.
inline void reserve_room(const std::string& journal) noexcept {
  constexpr off_t bytes = 64 << 10;  // hundreds of records
  const int saved_errno = errno;
  const int fd = event::open_high(journal.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat facts {};
  if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
    FileSizeLimitGuard guard;
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, facts.st_size, bytes) != 0 && errno == EFBIG) {
      guard.limit_reached();
    }
  }
  if (fd >= 0) close(fd);
  errno = saved_errno;
}

}  // namespace traceagent::trace
