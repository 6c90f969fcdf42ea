#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace traceagent::event {

// The floating point environment of a new process, for as long as this lives. A job may round
// otherwise or have floats trap (feenableexcept), and its threads' children inherit that: a
// division of ours would end it with SIGFPE. Not by <cfenv>, which is in libm.
class UsualFloats {
 public:
  UsualFloats() noexcept {
#if defined(__x86_64__)
    constexpr unsigned usual = 0x1f80;
    __asm__ volatile("fnstenv %0\n\tfninit" : "=m"(x87_));
    sse_ = _mm_getcsr();
    _mm_setcsr(usual);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(control_));
    __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
#endif
  }
  ~UsualFloats() {
#if defined(__x86_64__)
    __asm__ volatile("fldenv %0" : : "m"(x87_));
    _mm_setcsr(sse_);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(control_));
#endif
  }
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;

 private:
#if defined(__x86_64__)
  struct {
    std::uint32_t words[7];
  } x87_{};
  unsigned sse_ = 0;
#elif defined(__aarch64__)
  std::uint64_t control_ = 0;
#endif
};

}  // namespace traceagent::event
