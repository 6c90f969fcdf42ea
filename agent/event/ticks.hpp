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
extern bool ticks_from_tsc;

// Decides `ticks_from_tsc`. Call once, before any thread records.
void choose_tick_source() noexcept;

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  // Not fenced: rdtscp or lfence cost 10 ns more than the reordering they would forbid.
  if (ticks_from_tsc) [[likely]]
    return __rdtsc();
#endif
  return clock_ns(CLOCK_MONOTONIC_RAW);
}

}  // namespace traceagent::event
