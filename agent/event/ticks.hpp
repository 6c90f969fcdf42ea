#pragma once
// Ticks: the cheapest monotonic clock of the machine. Converted to nanoseconds in the drain only.

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace traceagent::event {

// True where the TSC runs at one rate in every power state (CPUID 0x80000007 EDX bit 8). Set once,
// before the first record; false means CLOCK_MONOTONIC_RAW in nanoseconds.
[[gnu::visibility("hidden")]] extern bool ticks_from_tsc;

// Decides `ticks_from_tsc`. Call once, before any thread records.
void choose_tick_source() noexcept;

// 0, or the number of the error with which a clock that is needed is refused.
int try_clocks() noexcept;

// Stands in for a clock that is refused (a seccomp filter): every call is a millisecond later, so
// that whoever waits until a time comes to an end.
std::uint64_t refused_clock_ns() noexcept;

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) [[unlikely]]
    return refused_clock_ns();
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC_RAW. The job's errno stays as it is, also where the clock is refused later on.
std::uint64_t clock_ticks() noexcept;

inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  // Not fenced: rdtscp or lfence cost 10 ns more than the reordering they would forbid.
  if (ticks_from_tsc) [[likely]]
    return __rdtsc();
#endif
  return clock_ticks();
}

}  // namespace traceagent::event
