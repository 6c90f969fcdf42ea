#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace traceagent::process {

// Sleeps while `word` is `value`, at most `timeout_ns`. A futex rather than a condition variable:
// it can be raised from a signal handler and waited for in an exit hook, and fork leaves no lock.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::uint64_t timeout_ns) noexcept {
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace traceagent::process
