#pragma once

#include <cstdint>
#include <initializer_list>

namespace simgpu::nccl {

/// FNV-1a over 64-bit words: the same on every rank that feeds it the same words.
inline std::uint64_t hash_of(std::initializer_list<std::uint64_t> words,
                             std::uint64_t hash = 1469598103934665603U) {
  for (const std::uint64_t word : words) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((word >> shift) & 0xff)) * 1099511628211U;
    }
  }
  return hash;
}

}  // namespace simgpu::nccl
