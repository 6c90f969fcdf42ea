#include "agent/event/ticks.hpp"

#include <atomic>
#include <cerrno>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace traceagent::event {

#if defined(__x86_64__)
// True from the start: a wrapper that runs before choose_tick_source() must not mix two clocks in
// one ring, and the rings are made after it.
bool ticks_from_tsc = true;

void choose_tick_source() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool known = __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0;
  ticks_from_tsc = known && (edx & (1u << 8)) != 0;
}
#else
bool ticks_from_tsc = false;

void choose_tick_source() noexcept {}
#endif

std::uint64_t refused_clock_ns() noexcept {
  constexpr std::uint64_t ms = 1'000'000;
  constinit static std::atomic<std::uint64_t> calls{0};
  return (calls.fetch_add(1, std::memory_order_relaxed) + 1) * ms;
}

std::uint64_t clock_ticks() noexcept {
  const int saved_errno = errno;
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  errno = saved_errno;
  return now_ns;
}

int try_clocks() noexcept {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME}) {
    timespec now{};
    if (clock_gettime(clock, &now) != 0) return errno;
  }
  return 0;
}

}  // namespace traceagent::event
