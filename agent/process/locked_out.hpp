#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace traceagent::process {

// Tells of a thread of ours that waits for a lock which it will not get: malloc's, where a signal
// handler of the job calls _exit in the midst of it, or the loader's, where a constructor calls
// exit. Whoever ends the process holds it, and waits for that thread.
// Waits of ours have a time limit, which this never takes for a lock's. What the kernel does not
// tell (no /proc, another kernel's) is no such wait. Without memory or a lock of its own: it is
// asked from exit handlers and signal handlers.
class LockedOut {
 public:
  // Longer than any lock is held by a thread that goes on.
  static constexpr std::uint64_t longest_wait_ns = 2'000'000'000;

  // True: since longest_wait_ns, as far as the looks tell.
  bool look(pid_t thread, std::uint64_t now_ns) noexcept;

 private:
  std::array<char, 160> before_{};  // the system call that it was in, with all arguments
  std::size_t size_ = 0;
  std::uint64_t since_ns_ = 0;
};

}  // namespace traceagent::process
