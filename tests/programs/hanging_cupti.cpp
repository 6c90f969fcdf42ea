// A libcupti that starts well and never comes back from one function, as one does whose context is
// dead: HANGING_CUPTI names it, else it is the flush. With SLOW_CUPTI it comes back after so many
// milliseconds.
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void hang_if_told(const char* function) {
  const char* told = std::getenv("HANGING_CUPTI");
  if (std::strcmp(told != nullptr ? told : "cuptiActivityFlushAll", function) != 0) return;
  const char* slow_ms = std::getenv("SLOW_CUPTI");
  if (slow_ms == nullptr) {
    for (;;) pause();
  }
  const long ms = std::atol(slow_ms);
  const timespec duration{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&duration, nullptr);
}

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]] int

EXPORT cuptiSubscribe(void** subscriber, void*, void*) {
  hang_if_told("cuptiSubscribe");
  *subscriber = subscriber;
  return 0;
}
EXPORT cuptiUnsubscribe(void*) { return 0; }
EXPORT cuptiActivityRegisterCallbacks(void*, void*) { return 0; }
EXPORT cuptiActivityEnable(std::uint32_t) {
  hang_if_told("cuptiActivityEnable");
  return 0;
}
EXPORT cuptiActivityDisable(std::uint32_t) {
  hang_if_told("cuptiActivityDisable");
  return 0;
}
EXPORT cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, void**) { return 12; }
EXPORT cuptiActivityFlushAll(std::uint32_t) {
  hang_if_told("cuptiActivityFlushAll");
  return 0;
}
