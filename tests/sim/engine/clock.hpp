#pragma once

#include <cstdint>
#include <ctime>

namespace simgpu {

/// CLOCK_REALTIME in nanoseconds: the one clock of the simulated GPU, on host and device.
inline std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Sleeps until the given CLOCK_REALTIME instant; returns at once if it has passed.
void sleep_until(std::int64_t deadline_ns);

/// Sleeps for a time span.
void sleep_for(std::int64_t span_ns);

}  // namespace simgpu
