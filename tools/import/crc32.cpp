#include "tools/import/crc32.hpp"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace traceagent::tools {

namespace {

std::uint32_t zlib_crc32(std::uint32_t crc, const char* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes), size));
}

#ifdef __x86_64__

// x^power modulo the polynomial, bits in the order of the crc's, shifted by the one that a product
// of such numbers lacks. (Intel, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ".)
constexpr long long power_of_x(unsigned power) {
  std::uint32_t value = 0x80000000U;  // x^0
  for (unsigned i = 0; i < power; ++i) {
    value = (value >> 1) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return static_cast<long long>(std::uint64_t{value} << 1);
}

constexpr std::size_t lane_bytes = 16;
constexpr std::size_t step_bytes = 4 * lane_bytes;
// Of the first and the second half of a lane.
constexpr long long lane_powers[] = {power_of_x(8 * lane_bytes + 32),
                                     power_of_x(8 * lane_bytes - 32)};
constexpr long long step_powers[] = {power_of_x(8 * step_bytes + 32),
                                     power_of_x(8 * step_bytes - 32)};

__m128i load(const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// Sixteen bytes, as they count so much further in front of the end of the text.
__attribute__((target("pclmul"))) __m128i moved(__m128i bytes, __m128i powers) {
  return _mm_xor_si128(_mm_clmulepi64_si128(bytes, powers, 0x00),
                       _mm_clmulepi64_si128(bytes, powers, 0x11));
}

// Of at least step_bytes. What was read is always sixteen bytes (in four lanes at first) with which
// the text would have the same remainder, and so the same crc.
__attribute__((target("pclmul"))) std::uint32_t folded_crc32(std::uint32_t crc, const char* at,
                                                             std::size_t size) {
  const __m128i by_step = _mm_set_epi64x(step_powers[1], step_powers[0]);
  const __m128i by_lane = _mm_set_epi64x(lane_powers[1], lane_powers[0]);
  __m128i lanes[4] = {load(at), load(at + 16), load(at + 32), load(at + 48)};
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  const char* const end = at + size;
  for (at += step_bytes; static_cast<std::size_t>(end - at) >= step_bytes; at += step_bytes) {
    for (int i = 0; i < 4; ++i) {
      lanes[i] = _mm_xor_si128(moved(lanes[i], by_step), load(at + 16 * i));
    }
  }
  __m128i rest = lanes[0];
  for (int i = 1; i < 4; ++i) {
    rest = _mm_xor_si128(moved(rest, by_lane), lanes[i]);
  }
  char last[lane_bytes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(last), rest);
  // Its own beginning (all ones, which zlib turns round) is in the lanes already.
  const std::uint32_t of_last = zlib_crc32(0xFFFFFFFFU, last, lane_bytes);
  return zlib_crc32(of_last, at, static_cast<std::size_t>(end - at));
}

// Likewise, of at least wide_step_bytes, two lanes at a time.
constexpr std::size_t wide_bytes = 2 * lane_bytes;
constexpr std::size_t wide_step_bytes = 4 * wide_bytes;
constexpr long long wide_step_powers[] = {power_of_x(8 * wide_step_bytes + 32),
                                          power_of_x(8 * wide_step_bytes - 32)};

__attribute__((target("avx2"))) __m256i load_wide(const char* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

__attribute__((target("avx2,vpclmulqdq"))) std::uint32_t wide_crc32(std::uint32_t crc,
                                                                    const char* at,
                                                                    std::size_t size) {
  const __m256i by_step = _mm256_set_epi64x(wide_step_powers[1], wide_step_powers[0],
                                            wide_step_powers[1], wide_step_powers[0]);
  __m256i pairs[4];
  for (std::size_t i = 0; i < 4; ++i) pairs[i] = load_wide(at + i * wide_bytes);
  pairs[0] =
      _mm256_xor_si256(pairs[0], _mm256_set_epi64x(0, 0, 0, static_cast<std::uint32_t>(~crc)));
  const char* const end = at + size;
  for (at += wide_step_bytes; static_cast<std::size_t>(end - at) >= wide_step_bytes;
       at += wide_step_bytes) {
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256i moved_pair =
          _mm256_xor_si256(_mm256_clmulepi64_epi128(pairs[i], by_step, 0x00),
                           _mm256_clmulepi64_epi128(pairs[i], by_step, 0x11));
      pairs[i] = _mm256_xor_si256(moved_pair, load_wide(at + i * wide_bytes));
    }
  }
  // What was read is as these, in which the crc before it is already.
  char lanes[wide_step_bytes];
  for (std::size_t i = 0; i < 4; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes + i * wide_bytes), pairs[i]);
  }
  const std::uint32_t of_lanes = folded_crc32(0xFFFFFFFFU, lanes, sizeof lanes);
  return zlib_crc32(of_lanes, at, static_cast<std::size_t>(end - at));
}

#endif

}  // namespace

std::uint32_t crc32(std::uint32_t crc, const char* bytes, std::size_t size) {
#ifdef __x86_64__
  if (size >= wide_step_bytes && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("vpclmulqdq")) {
    return wide_crc32(crc, bytes, size);
  }
  if (size >= step_bytes && __builtin_cpu_supports("pclmul")) {
    return folded_crc32(crc, bytes, size);
  }
#endif
  return zlib_crc32(crc, bytes, size);
}

}  // namespace traceagent::tools
