#pragma once
// What the calling thread has worked so far.

#include <cstdint>
#include <ctime>

namespace traceagent::event {

// 0 where the clock is refused: unlike the others it is always a system call. Who stands in for a
// refused clock (clock_ns) would have us work without end.
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// 0 where the clock was refused before or is now: such a difference would be ages.
inline std::uint64_t thread_cpu_since_ns(std::uint64_t before_ns) noexcept {
  const std::uint64_t now_ns = thread_cpu_ns();
  return before_ns == 0 || now_ns < before_ns ? 0 : now_ns - before_ns;
}

}  // namespace traceagent::event
