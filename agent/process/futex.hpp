#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace traceagent::process {

// Sleeps while `word` is `value`, at most `timeout_ns`. A futex rather than a condition variable:
// it can be raised from a signal handler and waited for in an exit hook, and fork leaves no lock.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::uint64_t timeout_ns) noexcept {
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
  if (result == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) return;
  // Refused by a seccomp filter: without a pause, whoever waits in a loop would spin.
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

// Who waits for another thread at the end of the process looks that often: a wake-up that is
// refused must cost no more than this.
inline constexpr std::uint64_t longest_sleep_ns = 50'000'000;

// False: refused.
inline bool futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0) >= 0;
}

}  // namespace traceagent::process
