#include "config/format_spec.hpp"

#include <algorithm>

#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

// A file name has at most 255 bytes: more than these is a mistake, and would cost memory.
constexpr int largest_width = 255;
constexpr int largest_precision = 100;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

void take_fill_and_align(std::string_view& text, FormatSpec& spec) {
  const std::size_t fill = text.empty() ? 0 : utf8_length(text);
  if (fill > 0 && text.size() > fill && is_align(text[fill])) {
    spec.fill = text.substr(0, fill);
    spec.align = text[fill];
    text.remove_prefix(fill + 1);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
}

// Reads digits; -1: none, or more than the limit (capped at limit + 1).
int take_number(std::string_view& text, int limit) {
  int number = -1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = std::min(limit + 1, std::max(number, 0) * 10 + (text[0] - '0'));
    text.remove_prefix(1);
  }
  return number;
}

ParsedFormatSpec refused(std::string problem) { return {{}, std::move(problem)}; }

}  // namespace

ParsedFormatSpec parse_format_spec(std::string_view text) {
  const std::string shown = in_quotes(text);
  FormatSpec spec;
  take_fill_and_align(text, spec);
  for (const char sign : {'+', '-', ' '}) {
    if (take(text, sign)) {
      spec.sign = sign;
      break;
    }
  }
  spec.alternate = take(text, '#');
  // A fill that was given makes the 0 a digit of the width.
  if (spec.fill.empty()) {
    spec.zero = take(text, '0');
    spec.fill = spec.zero ? "0" : " ";
  }
  spec.width = std::max(0, take_number(text, largest_width));
  if (spec.width > largest_width) return refused("the width in " + shown + " is over 255");
  if (take(text, ',')) {
    spec.grouping = ',';
  } else if (take(text, '_')) {
    spec.grouping = '_';
  }
  if (take(text, '.')) {
    spec.precision = take_number(text, largest_precision);
    if (spec.precision < 0) return refused("the precision in " + shown + " is missing");
    if (spec.precision > largest_precision) {
      return refused("the precision in " + shown + " is over 100");
    }
  }
  if (text.size() == 1 && std::string_view("bdeEfFgGosxX%").find(text[0]) != text.npos) {
    spec.type = text[0];
  } else if (!text.empty()) {
    return refused("unknown format " + shown);
  }
  return {spec, {}};
}

}  // namespace traceagent::config
