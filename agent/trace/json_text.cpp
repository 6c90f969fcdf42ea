#include "agent/trace/json_text.hpp"

namespace traceagent::trace {

namespace {

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101ULL; }

// Whether all eight bytes are printable ASCII other than '"' and '\\'. A byte b is below n when
// b - n borrows into the high bit; with all high bits clear the test is exact up to false alarms
// after the first hit, and a false alarm only costs the slow way.
bool all_plain(std::uint64_t word) {
  const std::uint64_t quote = word ^ every_byte('"');
  const std::uint64_t backslash = word ^ every_byte('\\');
  const std::uint64_t hits =
      (word - every_byte(0x20)) | (quote - every_byte(1)) | (backslash - every_byte(1)) | word;
  return (hits & every_byte(0x80)) == 0;
}

bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

unsigned char byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0;
}

bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// Length of the UTF-8 sequence at the front, 0 when it is not one (RFC 3629: no overlong forms, no
// surrogates, nothing past U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const unsigned char second = byte_at(text, 1);
  if (first >= 0xC2 && first <= 0xDF) {
    return continues(second) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return continues(second) && continues(byte_at(text, 2)) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second >= 0x90;
    return continues(second) && continues(byte_at(text, 2)) && continues(byte_at(text, 3)) &&
                   !overlong && !beyond
               ? 4
               : 0;
  }
  return 0;
}

char* put_control(char* to, unsigned char byte) {
  constexpr char hex[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      return put_literal(to, "\\\"");
    case '\\':
      return put_literal(to, "\\\\");
    case '\n':
      return put_literal(to, "\\n");
    case '\r':
      return put_literal(to, "\\r");
    case '\t':
      return put_literal(to, "\\t");
    default:
      to = put_literal(to, "\\u00");
      *to++ = hex[byte >> 4];
      *to++ = hex[byte & 15U];
      return to;
  }
}

// One character that is not plain; `size` becomes the bytes taken from the text.
char* put_special(char* to, std::string_view text, std::size_t& size) {
  size = 1;
  const unsigned char byte = byte_at(text, 0);
  if (byte < 0x80) {
    return put_control(to, byte);
  }
  const std::size_t length = sequence_length(text);
  if (length == 0) {
    return put_literal(to, "\xEF\xBF\xBD");
  }
  size = length;
  return put_literal(to, text.substr(0, length));
}

}  // namespace

char* put_escaped(char* to, std::string_view text) {
  while (true) {
    while (text.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), 8);
      if (!all_plain(word)) {
        break;
      }
      std::memcpy(to, &word, 8);
      to += 8;
      text.remove_prefix(8);
    }
    if (text.empty()) {
      return to;
    }
    if (is_plain(byte_at(text, 0))) {
      *to++ = text[0];
      text.remove_prefix(1);
      continue;
    }
    std::size_t size = 0;
    to = put_special(to, text, size);
    text.remove_prefix(size);
  }
}

}  // namespace traceagent::trace
