#pragma once
// Whether what was written is JSON, by a parser that is not ours.

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/scratch.hpp"

namespace traceagent::fuzz {

// Without most digits and exponents: simdjson wants 64 bits or a double, JSON has numbers of any
// size.
inline std::string with_small_numbers(const std::string& text) {
  constexpr std::size_t most_digits = 15;
  std::string small;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string || c < '0' || c > '9') {
      if (c == '"') in_string = !in_string;
      small.append(text, at, in_string && c == '\\' ? 2 : 1);
      at += in_string && c == '\\' ? 1 : 0;
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const std::size_t before = small.find_last_not_of("+-");
    const bool is_exponent = before != std::string::npos && (small[before] | 0x20) == 'e';
    small.append(text, at, is_exponent ? 1 : std::min(end - at, most_digits));
    at = end - 1;
  }
  return small;
}

inline void expect_json(const std::string& path) {
  if (path.ends_with(".gz")) return;
  static simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto error = parser.parse(with_small_numbers(text)).get(document);
  if (error) fail(path + ": " + simdjson::error_message(error));
}

}  // namespace traceagent::fuzz
