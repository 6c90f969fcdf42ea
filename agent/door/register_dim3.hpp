#pragma once
// dim3 as the calling convention passes it: in two registers. The wrappers take this in its stead,
// because g++ 12 writes a dim3 that it is given to the stack and reads it again at each call, even
// one that only passes it on: 1 to 2 ns of a launch that step detection follows. And as it lies in
// a record: taken apart into three numbers it would be put together again for that.

#include <vector_types.h>

#include <cstdint>
#include <type_traits>

#include "agent/door/widened.hpp"

namespace traceagent::door {

struct RegisterDim3 {
  std::uint64_t x_and_y = 0;
  std::uint32_t z = 0;

  RegisterDim3() = default;
  RegisterDim3(std::uint32_t x, std::uint32_t y, std::uint32_t depth) noexcept
      : x_and_y(x | widened(y) << 32), z(depth) {}
  RegisterDim3(const dim3& all) noexcept : RegisterDim3(all.x, all.y, all.z) {}

  std::uint32_t x() const noexcept { return static_cast<std::uint32_t>(x_and_y); }
  std::uint32_t y() const noexcept { return static_cast<std::uint32_t>(x_and_y >> 32); }
};
// Both are two words of integers, and no more than that decides about the registers.
static_assert(sizeof(dim3) == 12 && sizeof(RegisterDim3) == 16);
static_assert(std::is_trivially_copyable_v<dim3> && std::is_trivially_copyable_v<RegisterDim3>);

}  // namespace traceagent::door
