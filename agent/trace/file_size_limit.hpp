#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace traceagent::trace {

// A write beyond the limit of file sizes raises SIGXFSZ, which would end the job: while this lives
// the thread gets EFBIG alone. A signal that was blocked or pending before is left as it was.
class FileSizeLimitGuard {
 public:
  FileSizeLimitGuard() {
    sigset_t pending;
    sigemptyset(&limit_);
    sigaddset(&limit_, SIGXFSZ);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &limit_, &before_) == 0;
  }
  ~FileSizeLimitGuard() {
    if (!is_blocked_) return;
    const int error_number = errno;
    const timespec at_once{0, 0};
    if (reached_ && !was_pending_) {
      sigtimedwait(&limit_, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_number;
  }
  FileSizeLimitGuard(const FileSizeLimitGuard&) = delete;
  FileSizeLimitGuard& operator=(const FileSizeLimitGuard&) = delete;

  void limit_reached() { reached_ = true; }

 private:
  sigset_t limit_;
  sigset_t before_;
  bool is_blocked_ = false;  // a filter of system calls may refuse it
  bool was_pending_ = false;
  bool reached_ = false;
};

}  // namespace traceagent::trace
