#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace traceagent::process {

// Tells of a thread of ours that waits for a lock which it may never get: malloc's, where a signal
// handler of the job calls _exit in the midst of it, or the loader's, where a constructor calls
// exit. Whoever ends the process holds it, and waits for that thread.
// Waits of ours have a time limit, which this never takes for a lock's. What the kernel does not
// tell (no /proc, another kernel's) is no such wait. Without memory or a lock of its own: it is
// asked from exit handlers and signal handlers.
class LockedOut {
 public:
  // At how many looks, one after the other, the thread was in the same wait. Looks and not time: a
  // process that was stopped has waited for nothing.
  std::uint64_t look(pid_t thread) noexcept;

 private:
  std::array<char, 160> before_{};  // the system call that it was in, with all arguments
  std::size_t size_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace traceagent::process
