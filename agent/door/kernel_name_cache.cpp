#include "agent/door/kernel_name_cache.hpp"

namespace traceagent::door {

constinit std::array<CachedName, 1 << cached_name_bits> kernel_name_cache{};

namespace {

constexpr std::size_t longest_probe = 32;

CachedName& place_of(const void* function, std::size_t probe) noexcept {
  return kernel_name_cache[(cached_name_index(function) + probe) % kernel_name_cache.size()];
}

// The key of a place that is changing hands: no kernel's.
const void* changing_hands() noexcept { return &kernel_name_cache; }

// Not from one that is at its own index: kernel_name() looks there, and trusts what it finds. Nor
// while its offset is on its way, which would be stored as the next one's.
bool take_over(CachedName& place, const void* function, std::uint32_t offset) noexcept {
  const void* key = place.function.load(std::memory_order_acquire);
  if (key == changing_hands() || &place_of(key, 0) == &place) return false;
  if (place.offset.load(std::memory_order_acquire) == 0) return false;
  if (!place.function.compare_exchange_strong(key, changing_hands(), std::memory_order_acq_rel)) {
    return false;
  }
  place.offset.store(offset, std::memory_order_release);
  place.function.store(function, std::memory_order_release);
  return true;
}

// By turns: two kernels that displaced each other do not do so at each launch.
void cache_in_place_of_another(const void* function, std::uint32_t offset) noexcept {
  static constinit std::atomic<std::size_t> turn{0};
  const std::size_t first = turn.fetch_add(1, std::memory_order_relaxed);
  constexpr std::size_t others = longest_probe - 1;  // but for its own index, see take_over()
  for (std::size_t i = 0; i < others; ++i) {
    if (take_over(place_of(function, 1 + (first + i) % others), function, offset)) return;
  }
}

}  // namespace

std::uint32_t cached_offset(const void* function) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    const CachedName& place = place_of(function, probe);
    const void* key = place.function.load(std::memory_order_acquire);
    if (key == nullptr) return 0;
    if (key != function) continue;
    const std::uint32_t offset = place.offset.load(std::memory_order_acquire);
    // Else it has changed hands, and the offset may be another's.
    return place.function.load(std::memory_order_relaxed) == function ? offset : 0;
  }
  return 0;
}

void cache_offset(const void* function, std::uint32_t offset) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CachedName& place = place_of(function, probe);
    const void* key = nullptr;
    if (place.function.compare_exchange_strong(key, function, std::memory_order_acq_rel) ||
        key == function) {
      // Only into what is empty: it may have changed hands meanwhile.
      std::uint32_t unknown = 0;
      place.offset.compare_exchange_strong(unknown, offset, std::memory_order_acq_rel);
      return;
    }
  }
  cache_in_place_of_another(function, offset);
}

// All of its places: two threads that cached it at once may have taken one each.
void forget_cached_offset(const void* function) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CachedName& place = place_of(function, probe);
    const void* key = place.function.load(std::memory_order_acquire);
    if (key == nullptr) return;
    if (key == function) place.offset.store(0, std::memory_order_release);
  }
}

void forget_kernel_offsets() noexcept {
  for (CachedName& place : kernel_name_cache) {
    place.offset.store(0, std::memory_order_relaxed);
    place.function.store(nullptr, std::memory_order_release);
  }
}

}  // namespace traceagent::door
