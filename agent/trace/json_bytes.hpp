#pragma once
// What a byte of JSON text is, for those who write it and those who check it.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace traceagent::trace {

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101ULL; }

// The high bit of each of eight bytes that is not printable ASCII, or is '"' or '\\'. A byte b is
// below n when b - n borrows into the high bit; so it is exact up to and including the first hit,
// and after that there may be false ones.
constexpr std::uint64_t special_bytes(std::uint64_t word) {
  const std::uint64_t quote = word ^ every_byte('"');
  const std::uint64_t backslash = word ^ every_byte('\\');
  const std::uint64_t hits =
      (word - every_byte(0x20)) | (quote - every_byte(1)) | (backslash - every_byte(1)) | word;
  return hits & every_byte(0x80);
}

constexpr bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// Length of the UTF-8 sequence at the front, 0 when it is not one (RFC 3629: no overlong forms, no
// surrogates, nothing past U+10FFFF), nor begins with a byte of 0x80 or more.
std::size_t utf8_sequence_length(std::string_view text);

}  // namespace traceagent::trace
