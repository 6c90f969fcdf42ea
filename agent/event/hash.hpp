#pragma once
// 64-bit hashing for names, communicator identities and step tokens. Equal on every rank and in
// every build: nothing here may depend on addresses or on std::hash.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace traceagent::event {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): full avalanche in five operations.
inline constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t combine(std::uint64_t seed, std::uint64_t value) noexcept {
  return mix(seed ^ mix(value));
}

inline std::uint64_t hash_bytes(const void* data, std::size_t size,
                                std::uint64_t seed = 0) noexcept {
  const char* bytes = static_cast<const char*>(data);
  std::uint64_t hash = combine(seed, size);
  while (size >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = mix(hash ^ word);
    bytes += 8;
    size -= 8;
  }
  std::uint64_t tail = 0;
  if (size > 0) std::memcpy(&tail, bytes, size);  // of no bytes there may be no place either
  return mix(hash ^ tail);
}

inline std::uint64_t hash_text(std::string_view text) noexcept {
  return hash_bytes(text.data(), text.size());
}

}  // namespace traceagent::event
