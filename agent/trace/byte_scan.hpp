#pragma once
// How far a text goes on in one kind of bytes. What the machine has for sixteen bytes at once is
// part of x86-64 itself (SSE2): nothing is asked of the processor at run time.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "agent/trace/json_bytes.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace traceagent::trace {

// Not zero in each of eight bytes that is no digit.
constexpr std::uint64_t non_digits(std::uint64_t word) {
  const std::uint64_t high = every_byte(0xF0);
  return ((word & high) ^ every_byte(0x30)) | (((word + every_byte(6)) & high) ^ every_byte(0x30));
}

// The first byte from `at` on of those whose bits `hits_in(word of eight bytes)` has, or where less
// than eight bytes are left.
template <typename Hits>
[[gnu::always_inline]] inline const char* after_words(const char* at, const char* end,
                                                      Hits hits_in) {
  while (end - at >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t hits = hits_in(word);
    if (hits != 0) {
      return std::endian::native == std::endian::little ? at + std::countr_zero(hits) / 8 : at;
    }
    at += 8;
  }
  return at;
}

// The first byte from `at` on that is not plain (see is_plain()); `end` where all are.
[[gnu::always_inline]] inline const char* after_plain(const char* at, const char* end) {
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Bytes of 0x80 and more are below 0x20 where they count as signed.
    const __m128i special = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                         _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) {
      return at + std::countr_zero(mask);
    }
    at += 16;
  }
#endif
  at = after_words(at, end, special_bytes);
  while (at != end && is_plain(static_cast<unsigned char>(*at))) {
    ++at;
  }
  return at;
}

// The first byte from `at` on that is no digit; `end` where all are.
[[gnu::always_inline]] inline const char* after_digits(const char* at, const char* end) {
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
    const auto others = ~static_cast<unsigned>(_mm_movemask_epi8(is_digit)) & 0xFFFFU;
    if (others != 0) {
      return at + std::countr_zero(others);
    }
    at += 16;
  }
#endif
  at = after_words(at, end, non_digits);
  while (at != end && *at >= '0' && *at <= '9') {
    ++at;
  }
  return at;
}

// How many bytes are looked at at once.
inline constexpr std::size_t scan_bytes = 16;

// How many of the bytes at `a` and `b` are the same: of the first `most`, and of the `room` that
// there is at `a`. At `b` scan_bytes more than `most` must be readable.
[[gnu::always_inline]] inline std::size_t same_bytes(const char* a, std::size_t room, const char* b,
                                                     std::size_t most) {
  std::size_t same = 0;
#ifdef __SSE2__
  for (; same < most && room - same >= scan_bytes; same += scan_bytes) {
    const __m128i equal =
        _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + same)),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + same)));
    const auto differ = ~static_cast<unsigned>(_mm_movemask_epi8(equal)) & 0xFFFFU;
    if (differ != 0) {
      return std::min<std::size_t>(same + static_cast<std::size_t>(std::countr_zero(differ)), most);
    }
  }
#endif
  const std::size_t all = std::min(most, room);
  while (same < all && a[same] == b[same]) {
    ++same;
  }
  return std::min(same, all);
}

// Whether the text from `at` to `end` begins with `bytes` bytes that are those at `b`. There
// scan_bytes more must be readable.
[[gnu::always_inline]] inline bool begins_with(const char* at, const char* end, const char* b,
                                               std::size_t bytes) {
#ifdef __SSE2__
  if (static_cast<std::size_t>(end - at) >= bytes + scan_bytes) [[likely]] {
    const auto equal = [&](std::size_t from) {
      return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + from)),
                            _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + from)));
    };
    std::size_t same = 0;
    for (; bytes - same >= scan_bytes; same += scan_bytes) {
      if (_mm_movemask_epi8(equal(same)) != 0xFFFF) {
        return false;
      }
    }
    const auto differ = ~static_cast<unsigned>(_mm_movemask_epi8(equal(same)));
    return (differ & ((1U << (bytes - same)) - 1)) == 0;
  }
#endif
  return same_bytes(at, static_cast<std::size_t>(end - at), b, bytes) == bytes;
}

}  // namespace traceagent::trace
