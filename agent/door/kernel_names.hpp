#pragma once
// From the handle that a launch carries to the kernel's name in the ring.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

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

// Offsets that were found, open addressing. 16,384 distinct kernels in one job is beyond what was
// ever seen; with the table full the name is found again at each launch.
struct CachedName {
  std::atomic<const void*> function;
  std::atomic<std::uint32_t> offset;  // 0: look again
};
inline constexpr int cached_name_bits = 14;
[[gnu::visibility("hidden")]] extern constinit std::array<CachedName, 1 << cached_name_bits>
    kernel_name_cache;
// Cached for a handle that nobody registered (a kernel of the driver API's libraries), so that it
// does not cost a search at each launch.
inline constexpr std::uint32_t unknown_kernel = 1;

// The upper bits of one multiplication, which depend on the whole address: each launch waits for
// them.
inline std::size_t cached_name_index(const void* function) noexcept {
  const std::uint64_t product = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(product >> (64 - cached_name_bits));
}

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

// A new ring: the offsets of the old one mean nothing.
void forget_kernel_offsets() noexcept;

}  // namespace traceagent::door
