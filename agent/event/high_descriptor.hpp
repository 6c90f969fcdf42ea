#pragma once
// Numbers of our descriptors, where the job does not look.

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "agent/event/fork_hold.hpp"

namespace traceagent::event {

inline constexpr int lowest_high_descriptor = 500;

// A job closes low numbers blindly, takes them with dup2, expects the one that it has just closed
// of its next open() (daemons), and prints to a standard output that it has closed: a file of ours
// would hold what is meant for another, or lose its own. Where numbers that high may not be had
// (ulimit -n), any but the standard ones. It is the same file; a lock of the process's on it is
// gone. A job's last free number is left to it: -1 and EMFILE, and the file is closed.
int off_low_numbers(int descriptor) noexcept;

// open(2), close-on-exec and again where a signal of the job cuts it short, then off_low_numbers().
//
// Until there the file has the lowest free number, for a microsecond: no call opens a file under a
// number of one's choice. A table of our threads' own (close_range with CLOSE_RANGE_UNSHARE copies
// none of the job's descriptors) would be without that moment, and is worse: CUDA is called in
// those threads and would find none of its descriptors or another's, there would be no standard
// error unless a copy kept the job's pipes open, record locks would be another owner's, and who
// checkpoints processes refuses one whose threads have tables of their own. The thread that reads
// /proc for counters has one all the same: it calls nothing of CUDA's, holds nothing of the job's
// and can be left out (counters.sources).
//
// In line, so that each caller's open(2) is a place of its own where tests let calls fail; so not
// by uninterrupted(), which the compiler may make one function of for all callers.
[[gnu::always_inline]] inline int open_high(const char* path, int flags, mode_t mode = 0) noexcept {
  int descriptor = -1;
  do {
    descriptor = open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return off_low_numbers(descriptor);
}

struct CloseFolder {
  void operator()(DIR* entries) const noexcept {
    const int saved_errno = errno;
    const ForkHold hold;
    closedir(entries);
    errno = saved_errno;
  }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// As opendir(3).
[[gnu::always_inline]] inline Folder open_folder_high(const char* path) noexcept {
  const int descriptor = open_high(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  const ForkHold hold;
  Folder entries(fdopendir(descriptor));
  if (entries != nullptr) return entries;
  const int saved_errno = errno;
  close(descriptor);
  errno = saved_errno;
  return nullptr;
}

}  // namespace traceagent::event
