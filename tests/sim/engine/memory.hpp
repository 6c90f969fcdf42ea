#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace simgpu::memory {

enum class Kind : std::uint8_t { device, pinned, registered, managed };

struct Block {
  char* base = nullptr;
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;
  unsigned flags = 0;
  void* pool = nullptr;
};

/// Zeroed host memory that plays device, pinned or managed memory; nullptr when the device is full.
void* allocate(std::size_t bytes, Kind kind, int device, unsigned flags = 0, void* pool = nullptr);

/// False when the address is not the start of a block of one of these kinds.
bool release(void* address, bool host);

/// Takes note of the program's own memory (cudaHostRegister); false when it is known already.
bool add_registered(void* address, std::size_t bytes, unsigned flags);
bool remove_registered(void* address);

/// The block that holds the address.
std::optional<Block> find(const void* address);

/// Whether these bytes lie within one block.
bool covers(const void* address, std::size_t bytes);

std::uint64_t used_bytes(int device);

/// Frees whatever the device holds (cudaDeviceReset).
void release_device(int device);

}  // namespace simgpu::memory
