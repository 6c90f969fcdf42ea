#pragma once
// An argument of four bytes as eight, in the way that costs nothing: g++ 12 spills the four and
// loads eight where they are to be shifted. That load waits until the store is in the cache: 3 ns
// of a recorded cuLaunchKernel.

#include <cstdint>

namespace traceagent::door {

[[gnu::always_inline]] inline std::uint64_t widened(std::uint32_t number) noexcept {
  std::uint64_t wide = number;
  __asm__("" : "+r"(wide));  // a register that holds all eight: the compiler may not look behind it
  return wide;
}

}  // namespace traceagent::door
