// Preloaded: CLOCK_REALTIME jumps an hour to and fro, now and then.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {
std::atomic<unsigned> asked{0};
}

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t clock,
                                                            timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  constexpr time_t hour_s = 3600;
  if (clock == CLOCK_REALTIME) {
    const unsigned phase = asked.fetch_add(1) / 7 % 3;
    if (phase == 1) now->tv_sec += hour_s;
    if (phase == 2) now->tv_sec -= hour_s;
  }
  return static_cast<int>(result);
}
