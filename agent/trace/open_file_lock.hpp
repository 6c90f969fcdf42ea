#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "agent/event/uninterrupted.hpp"

namespace traceagent::trace {

// Of the open file, not of the process: what several threads of a process open is several files,
// and the first that closes one would give up the process's lock of all. False, with errno, where
// another has it (EAGAIN, EACCES) or where there are no locks.
inline bool lock_open_file(int fd, short type) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return event::uninterrupted([&] { return fcntl(fd, F_OFD_SETLK, &lock); }) == 0;
}

// Not by close alone: a process that another thread forks meanwhile has the open file too.
inline void unlock_and_close(int fd) noexcept {
  lock_open_file(fd, F_UNLCK);
  close(fd);
}

}  // namespace traceagent::trace
