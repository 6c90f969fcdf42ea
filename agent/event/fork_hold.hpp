#pragma once

namespace traceagent::event {

// A fork waits while one of these lives, and none begins while a fork goes on. For calls in which a
// thread of ours holds a lock that is not ours, which no forked child ever gets back: a child of a
// job of one thread would then hang where it never could without us. Such calls are
//   - malloc and free, where the job's are not libc's and care for no fork (AddressSanitizer's of
//     GCC 12: 3 of 600 children hung), and what of libc calls them: opendir, fopen, realpath;
//   - strerror and gmtime_r: libc's locale and time zone;
//   - those that go through the loader's list of objects: dl_iterate_phdr, dlopen, NVML.
// Both wait a bounded time: a fork within a signal handler may have interrupted the call itself.
class ForkHold {
 public:
  ForkHold() noexcept;
  ~ForkHold();
  ForkHold(const ForkHold&) = delete;
  ForkHold& operator=(const ForkHold&) = delete;
};

// For pthread_atfork, in this order; they keep errno. What the forking thread calls between them
// neither waits nor is waited for.
void begin_fork() noexcept;
void end_fork_in_parent() noexcept;
void end_fork_in_child() noexcept;

}  // namespace traceagent::event
