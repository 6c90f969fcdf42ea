#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Formatting into a raw buffer that the caller has sized. Every function takes the place to write
// to and returns the place after what it wrote; none ends the text with a zero.
namespace traceagent::trace {

inline constexpr std::size_t max_integer_chars = 20;  // -9223372036854775808
inline constexpr std::size_t max_double_chars = 32;
inline constexpr std::size_t max_hex_chars = 20;          // "0x" and 16 digits, in quotes
inline constexpr std::size_t max_microsecond_chars = 21;  // -9223372036854775.808

// The most bytes that put_escaped writes for a text of `size` bytes (\u00xx for each).
constexpr std::size_t escaped_bound(std::size_t size) { return size * 6 + 8; }

namespace digits {

inline constexpr char pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
    "4748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293"
    "949596979899";

inline constexpr std::uint64_t powers_of_ten[] = {0ULL,
                                                  10ULL,
                                                  100ULL,
                                                  1000ULL,
                                                  10000ULL,
                                                  100000ULL,
                                                  1000000ULL,
                                                  10000000ULL,
                                                  100000000ULL,
                                                  1000000000ULL,
                                                  10000000000ULL,
                                                  100000000000ULL,
                                                  1000000000000ULL,
                                                  10000000000000ULL,
                                                  100000000000000ULL,
                                                  1000000000000000ULL,
                                                  10000000000000000ULL,
                                                  100000000000000000ULL,
                                                  1000000000000000000ULL,
                                                  10000000000000000000ULL};

// Decimal digits of `value`; log10 from log2, corrected by one comparison.
inline unsigned count(std::uint64_t value) {
  const auto guess = static_cast<unsigned>(std::bit_width(value | 1U)) * 1233U >> 12;
  return guess + (value >= powers_of_ten[guess] ? 1U : 0U);
}

}  // namespace digits

inline char* put_literal(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

inline char* put_unsigned(char* to, std::uint64_t value) {
  char* const end = to + digits::count(value);
  char* at = end;
  while (value >= 100) {
    at -= 2;
    std::memcpy(at, digits::pairs + (value % 100) * 2, 2);
    value /= 100;
  }
  if (value >= 10) {
    std::memcpy(at - 2, digits::pairs + value * 2, 2);
  } else {
    at[-1] = static_cast<char>('0' + value);
  }
  return end;
}

inline char* put_integer(char* to, std::int64_t value) {
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *to++ = '-';
    magnitude = 0 - magnitude;
  }
  return put_unsigned(to, magnitude);
}

// Nanoseconds as microseconds with exactly three decimals: 12345 -> 12.345, -1 -> -0.001.
inline char* put_microseconds(char* to, std::int64_t ns) {
  auto magnitude = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    *to++ = '-';
    magnitude = 0 - magnitude;
  }
  to = put_unsigned(to, magnitude / 1000);
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  to[0] = '.';
  to[1] = static_cast<char>('0' + rest / 100);
  std::memcpy(to + 2, digits::pairs + (rest % 100) * 2, 2);
  return to + 4;
}

// The shortest text that reads back as the same double; JSON has no NaN or infinity: null.
inline char* put_double(char* to, double value) {
  if (!std::isfinite(value)) {
    return put_literal(to, "null");
  }
  // Without an exponent it would read as a whole number, and as one that is too long for 64 bits.
  if (std::abs(value) >= 0x1p63) {
    return std::to_chars(to, to + max_double_chars, value, std::chars_format::scientific).ptr;
  }
  return std::to_chars(to, to + max_double_chars, value).ptr;
}

// "0x1f" in quotes: addresses and handles, which a double would round.
inline char* put_hex(char* to, std::uint64_t value) {
  to = put_literal(to, "\"0x");
  to = std::to_chars(to, to + 16, value, 16).ptr;
  *to++ = '"';
  return to;
}

// The inside of a JSON string: quotes, backslashes and control characters escaped, bytes that are
// not UTF-8 replaced by U+FFFD. Needs escaped_bound(text.size()) bytes.
char* put_escaped(char* to, std::string_view text);

inline char* put_string(char* to, std::string_view text) {
  *to++ = '"';
  to = put_escaped(to, text);
  *to++ = '"';
  return to;
}

}  // namespace traceagent::trace
