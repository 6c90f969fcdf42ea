#pragma once
// Kernels whose names' offsets in the ring are known: a launch does not search for them.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace traceagent::door {

// Open addressing. 16,384 distinct kernels in one job is beyond what was ever seen; with the table
// full one that is new takes another's place.
struct CachedName {
  std::atomic<const void*> function;
  std::atomic<std::uint32_t> offset;  // 0: look again
};
inline constexpr int cached_name_bits = 14;
[[gnu::visibility("hidden")]] extern constinit std::array<CachedName, 1 << cached_name_bits>
    kernel_name_cache;
// Cached for a handle that nobody registered (a kernel of the driver API's libraries), and for one
// whose name found no room, so that it does not cost a search at each launch.
inline constexpr std::uint32_t unknown_kernel = 1;

// The upper bits of one multiplication, which depend on the whole address: each launch waits for
// them.
inline std::size_t cached_name_index(const void* function) noexcept {
  const std::uint64_t product = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(product >> (64 - cached_name_bits));
}

// 0: it is not there, or was forgotten.
std::uint32_t cached_offset(const void* function) noexcept;
void cache_offset(const void* function, std::uint32_t offset) noexcept;
// What is known of it has changed: the next launch shall look again.
void forget_cached_offset(const void* function) noexcept;
// A new ring: the offsets of the old one mean nothing.
void forget_kernel_offsets() noexcept;

}  // namespace traceagent::door
