// operator new (not exported: linking/symbol_versions.map) with a small reserve: yaml-cpp's static
// strings are made while the library is loaded, before any code of ours, and a std::bad_alloc there
// would end the job. Later on the reserve mostly is still there and serves the first who find no
// memory; it is not given back.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// AddressSanitizer has its own.
#ifndef __SANITIZE_ADDRESS__

namespace {

constexpr std::size_t reserve_bytes = 4096;
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

void* operator new(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) memory = take_from_reserve(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  if (!is_of_reserve(memory)) std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

#endif
