// Preloaded: the clocks go on by 100 ns at a time, as on machines that read them coarsely.
#include <dlfcn.h>

#include <ctime>

namespace {
using Read = int(clockid_t, timespec*);
constexpr long grain_ns = 100;
}  // namespace

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t clock,
                                                            timespec* now) noexcept {
  static auto* const real = reinterpret_cast<Read*>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (result == 0) now->tv_nsec -= now->tv_nsec % grain_ns;
  return result;
}
