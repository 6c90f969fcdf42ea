// operator new (not exported: linking/symbol_versions.map) with a small reserve: yaml-cpp's static
// strings are made while the library is loaded, before any code of ours, and a std::bad_alloc there
// would end the job. Later on the reserve mostly is still there and serves the first who find no
// memory; it is not given back. All of the agent's heap goes through here, and is counted for
// budget.memory (event/own_heap.hpp).
//
// What is large, the records of a window that is being written, has pages of its own: from malloc
// it would stay in the job's heap afterwards (10 MB more or less from one cycle to the next were
// seen), and raise the size from which the job's own large blocks are given back.

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "agent/event/held_memory.hpp"
#include "agent/event/own_heap.hpp"

// AddressSanitizer has its own.
#ifndef __SANITIZE_ADDRESS__

namespace {

// The tools need most: CLI11 has static strings in each file that includes it. Pages that nobody
// needs are never touched.
constexpr std::size_t reserve_bytes = 64 * 1024;
constexpr std::size_t head_bytes = 16;  // malloc's alignment is kept
alignas(16) constinit std::array<std::byte, reserve_bytes> reserve{};
constinit std::atomic<std::size_t> used_bytes{0};

constexpr std::size_t own_pages_bytes = 256 * 1024;
static_assert(reserve_bytes < own_pages_bytes);

void* map_pages(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

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
  void* memory = with_head >= own_pages_bytes ? map_pages(with_head)
                                              : traceagent::event::held_malloc(with_head);
  if (memory == nullptr) memory = take_from_reserve(with_head);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = with_head;
  traceagent::event::note_heap(static_cast<std::int64_t>(with_head));
  return static_cast<std::byte*>(memory) + head_bytes;
}

void operator delete(void* given) noexcept {
  if (given == nullptr) return;
  void* memory = static_cast<std::byte*>(given) - head_bytes;
  const std::size_t with_head = *static_cast<std::size_t*>(memory);
  traceagent::event::note_heap(-static_cast<std::int64_t>(with_head));
  if (with_head >= own_pages_bytes) {
    munmap(memory, with_head);
  } else if (!is_of_reserve(memory)) {
    traceagent::event::held_free(memory);
  }
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

#endif
