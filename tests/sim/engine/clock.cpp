#include "tests/sim/engine/clock.hpp"

#include <cerrno>

namespace simgpu {
namespace {

timespec to_timespec(std::int64_t time_ns) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000);
  time.tv_nsec = static_cast<long>(time_ns % 1'000'000'000);
  return time;
}

}  // namespace

void sleep_until(std::int64_t deadline_ns) {
  // Relative to the monotonic clock: a step of CLOCK_REALTIME must not lengthen the sleep.
  for (std::int64_t left = deadline_ns - now_ns(); left > 0; left = deadline_ns - now_ns()) {
    const int saved = errno;
    const timespec time = to_timespec(left);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    errno = saved;
  }
}

void sleep_for(std::int64_t span_ns) { sleep_until(now_ns() + span_ns); }

}  // namespace simgpu
