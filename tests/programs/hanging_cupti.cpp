// A libcupti that starts well and never comes back from a flush, as one does whose context is dead.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#define EXPORT extern "C" [[gnu::visibility("default")]] int

EXPORT cuptiSubscribe(void** subscriber, void*, void*) {
  *subscriber = subscriber;
  return 0;
}
EXPORT cuptiUnsubscribe(void*) { return 0; }
EXPORT cuptiActivityRegisterCallbacks(void*, void*) { return 0; }
EXPORT cuptiActivityEnable(std::uint32_t) { return 0; }
EXPORT cuptiActivityDisable(std::uint32_t) { return 0; }
EXPORT cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, void**) { return 12; }
EXPORT cuptiActivityFlushAll(std::uint32_t) {
  for (;;) pause();
}
