#pragma once
// dim3 as the calling convention passes it: in two registers. The wrappers take this in its stead,
// because g++ 12 writes a dim3 that it is given to the stack and reads it again at each call, even
// one that only passes it on: 1 to 2 ns of a launch that step detection follows.

#include <vector_types.h>

#include <cstdint>
#include <type_traits>

namespace traceagent::door {

struct RegisterDim3 {
  std::uint64_t x_and_y;
  std::uint32_t z;

  operator dim3() const noexcept {
    return {static_cast<std::uint32_t>(x_and_y), static_cast<std::uint32_t>(x_and_y >> 32), z};
  }
};
// Both are two words of integers, and no more than that decides about the registers.
static_assert(sizeof(dim3) == 12 && sizeof(RegisterDim3) == 16);
static_assert(std::is_trivially_copyable_v<dim3> && std::is_trivially_copyable_v<RegisterDim3>);

}  // namespace traceagent::door
