// operator new (not exported: linking/symbol_versions.map) with a small reserve: yaml-cpp's static
// strings are made while the library is loaded, before any code of ours, and a std::bad_alloc there
// would end the job. Later on the reserve mostly is still there and serves the first who find no
// memory; it is not given back. All of the agent's heap goes through here, and is counted for
// budget.memory (event/own_heap.hpp).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "agent/event/own_heap.hpp"

// AddressSanitizer has its own.
#ifndef __SANITIZE_ADDRESS__

namespace {

constexpr std::size_t reserve_bytes = 4096;
constexpr std::size_t head_bytes = 16;  // malloc's alignment is kept
alignas(16) constinit std::array<std::byte, reserve_bytes> reserve{};
constinit std::atomic<std::size_t> used_bytes{0};

void* take_from_reserve(std::size_t bytes) noexcept {
  if (bytes > reserve_bytes) return nullptr;
  const std::size_t rounded = (bytes + 15) / 16 * 16;
  std::size_t begin = used_bytes.load(std::memory_order_relaxed);
  do {
    if (begin + rounded > reserve_bytes) return nullptr;
  } while (!used_bytes.compare_exchange_weak(begin, begin + rounded, std::memory_order_relaxed));
  return reserve.data() + begin;
}

bool is_of_reserve(const void* memory) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(reserve.data());
  return address >= begin && address < begin + reserve_bytes;
}

}  // namespace

// The size stands before what is given out: malloc_usable_size may be another allocator's than the
// job's malloc.
void* operator new(std::size_t bytes) {
  if (bytes > SIZE_MAX - head_bytes || !traceagent::event::may_grow_heap(bytes)) {
    throw std::bad_alloc();
  }
  const std::size_t with_head = bytes + head_bytes;
  void* memory = std::malloc(with_head);
  if (memory == nullptr) memory = take_from_reserve(with_head);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = with_head;
  traceagent::event::note_heap(static_cast<std::int64_t>(with_head));
  return static_cast<std::byte*>(memory) + head_bytes;
}

void operator delete(void* given) noexcept {
  if (given == nullptr) return;
  void* memory = static_cast<std::byte*>(given) - head_bytes;
  traceagent::event::note_heap(-static_cast<std::int64_t>(*static_cast<std::size_t*>(memory)));
  if (!is_of_reserve(memory)) std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

#endif
