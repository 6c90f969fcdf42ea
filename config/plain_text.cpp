#include "config/plain_text.hpp"

#include <algorithm>

namespace traceagent::config {
namespace {

constexpr std::size_t longest_quote = 100;
constexpr char hex_digits[] = "0123456789abcdef";

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

void append_hex(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += hex_digits[byte >> 4];
  out += hex_digits[byte & 15];
}

// Encodings longer than needed, surrogates and numbers past U+10FFFF are not characters.
bool is_forbidden_pair(unsigned char first, unsigned char second) {
  return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  if (is_forbidden_pair(first, static_cast<unsigned char>(text[1]))) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view text) { return '"' + printable(text, longest_quote) + '"'; }

std::string printable(std::string_view text, std::size_t longest) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) {
      out += "...";
      break;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text[0])) {
      out += "\\x";
      append_hex(out, text[0]);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (is_control(text[0])) {
      out += "\\u00";
      append_hex(out, text[0]);
    } else {
      if (text[0] == '"' || text[0] == '\\') out += '\\';
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

}  // namespace traceagent::config
