#pragma once
// From the handle that a launch carries to the kernel's name in the ring.

#include <atomic>
#include <cstdint>

#include "agent/door/kernel_name_cache.hpp"

namespace traceagent::door {

// A compiler's registration: `function` (host stub or kernel handle) runs the kernel `name`, which
// lives until its `module` is forgotten (null: for ever). Any thread; never blocks.
void register_kernel(const void* function, const char* name, const void* module = nullptr) noexcept;
// A library is being closed, and with it go its kernels' names.
void forget_kernels(const void* module) noexcept;
// The same for a name that does not live: it is copied. Beyond some megabytes of different names,
// or a million registrations, the kernel is unknown and counted (names_full).
void register_kernel_copied(const void* function, const char* name) noexcept;
// `handle` is another way to say `function`.
void alias_kernel(const void* handle, const void* function) noexcept;

// Offset of the kernel's name in this process's ring; 0: unknown.
std::uint32_t find_kernel_name(const void* function) noexcept;

// The same. In line where the kernel is at its place: what a call needs of registers would be saved
// at each launch.
inline std::uint32_t kernel_name(const void* function) noexcept {
  const CachedName& entry = kernel_name_cache[cached_name_index(function)];
  if (entry.function.load(std::memory_order_acquire) == function) [[likely]] {
    const std::uint32_t offset = entry.offset.load(std::memory_order_acquire);
    if (offset > unknown_kernel) [[likely]] {
      return offset;
    }
  }
  return find_kernel_name(function);
}

}  // namespace traceagent::door
