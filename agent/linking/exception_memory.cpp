// Memory for exceptions, in place of libstdc++'s: that one reserves 73 KB from malloc when the
// library is loaded, in every process, and where malloc refuses (then or later) a thrown
// std::bad_alloc becomes std::terminate, the end of the job.
//
// Layout: what is thrown lies behind a header (__cxa_refcounted_exception of the Itanium C++ ABI,
// 128 bytes), which begins as zeros. The one here is larger: only its end is used.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>

#include "agent/event/held_memory.hpp"

namespace {

constexpr std::size_t header_bytes = 256;
constexpr std::size_t slot_bytes = 512;
// More than our threads can have in flight; pages that nobody needs are never touched.
constexpr std::size_t slot_count = 32;

struct alignas(16) Slot {
  std::array<std::byte, slot_bytes> bytes;
};
constinit std::array<Slot, slot_count> slots{};
constinit std::array<std::atomic<bool>, slot_count> is_taken{};

void* take_slot(std::size_t bytes) noexcept {
  if (bytes > slot_bytes) return nullptr;
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (!is_taken[i].exchange(true, std::memory_order_acquire)) return &slots[i];
  }
  return nullptr;
}

std::byte* allocate(std::size_t bytes) noexcept {
  void* memory = traceagent::event::held_malloc(bytes);
  if (memory == nullptr) memory = take_slot(bytes);
  if (memory == nullptr) std::terminate();
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

void release(void* memory) noexcept {
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (memory == &slots[i]) return is_taken[i].store(false, std::memory_order_release);
  }
  traceagent::event::held_free(memory);
}

}  // namespace

extern "C" {
[[gnu::visibility("hidden")]] void* __cxa_allocate_exception(std::size_t thrown_bytes) noexcept {
  return allocate(header_bytes + thrown_bytes) + header_bytes;
}
[[gnu::visibility("hidden")]] void __cxa_free_exception(void* thrown) noexcept {
  release(static_cast<std::byte*>(thrown) - header_bytes);
}
// Of std::rethrow_exception: a header alone.
[[gnu::visibility("hidden")]] void* __cxa_allocate_dependent_exception() noexcept {
  return allocate(header_bytes);
}
[[gnu::visibility("hidden")]] void __cxa_free_dependent_exception(void* header) noexcept {
  release(header);
}
}
