#include "agent/trace/json_text.hpp"

#include "agent/trace/json_bytes.hpp"

namespace traceagent::trace {

namespace {

unsigned char byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0;
}

bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

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
  const std::size_t length = utf8_sequence_length(text);
  if (length == 0) {
    return put_literal(to, "\xEF\xBF\xBD");
  }
  size = length;
  return put_literal(to, text.substr(0, length));
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
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

char* put_escaped(char* to, std::string_view text) {
  while (true) {
    while (text.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), 8);
      if (special_bytes(word) != 0) {
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
