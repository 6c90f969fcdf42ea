#include "agent/event/ticks.hpp"

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

}  // namespace traceagent::event
