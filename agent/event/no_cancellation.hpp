#pragma once

#include <pthread.h>

namespace traceagent::event {

// For work of ours in a thread of the job that calls what is a cancellation point (open,
// nanosleep): a pthread_cancel that acts there would unwind through our noexcept functions and end
// the process. It acts at the job's next point of its own instead. No system call.
class NoCancellation {
 public:
  NoCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace traceagent::event
