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

}  // namespace traceagent::event
