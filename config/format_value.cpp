#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "config/format_spec.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

std::string in_groups(std::string digits, char separator, std::size_t group) {
  for (std::size_t at = digits.size(); at > group;) {
    at -= group;
    digits.insert(at, 1, separator);
  }
  return digits;
}

// The parts of a number in the order they are written.
struct NumberParts {
  std::string sign;    // "-", "+", " " or ""
  std::string prefix;  // 0x, 0o, 0b
  std::string digits;  // before the point, without grouping
  std::string rest;    // the point and what follows; exponent, %
  std::size_t group = 3;
};

std::string sign_of(bool negative, char wanted) {
  if (negative) return "-";
  return wanted == '-' ? "" : std::string(1, wanted);
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(std::max<std::size_t>(1, utf8_length(text)));
    ++count;
  }
  return count;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string padded(const std::string& left, const std::string& right, const FormatSpec& spec,
                   char align) {
  const std::size_t length = characters_in(left) + characters_in(right);
  const auto width = static_cast<std::size_t>(spec.width);
  if (length >= width) return left + right;
  const std::size_t missing = width - length;
  switch (align) {
    case '<':
      return left + right + repeated(spec.fill, missing);
    case '^':
      return repeated(spec.fill, missing / 2) + left + right +
             repeated(spec.fill, missing - missing / 2);
    case '=':
      return left + repeated(spec.fill, missing) + right;
    default:
      return repeated(spec.fill, missing) + left + right;
  }
}

// With fill 0 after the sign, grouped numbers are widened digit by digit so that the separators go
// on through the zeros: format(1234, "010,d") is 00,001,234.
std::string widened(const NumberParts& parts, const FormatSpec& spec) {
  std::string digits = parts.digits;
  const auto width = static_cast<std::size_t>(spec.width);
  while (true) {
    const std::string grouped = in_groups(digits, spec.grouping, parts.group);
    const std::size_t length =
        parts.sign.size() + parts.prefix.size() + grouped.size() + parts.rest.size();
    if (length >= width) return parts.sign + parts.prefix + grouped + parts.rest;
    digits.insert(0, 1, '0');
  }
}

std::string joined(const NumberParts& parts, const FormatSpec& spec) {
  const char align = spec.align != '\0' ? spec.align : '>';
  const bool is_zero_fill = align == '=' && spec.fill == "0";
  if (spec.grouping != '\0' && is_zero_fill) return widened(parts, spec);
  const std::string digits =
      spec.grouping != '\0' ? in_groups(parts.digits, spec.grouping, parts.group) : parts.digits;
  return padded(parts.sign + parts.prefix, digits + parts.rest, spec, align);
}

std::string digits_in_base(std::uint64_t magnitude, int base, bool capitals) {
  char buffer[65];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
  std::string digits(buffer, written.ptr);
  if (capitals) {
    for (char& c : digits) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return digits;
}

int base_of(char type) {
  switch (type) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
    case 'X':
      return 16;
    default:
      return 10;
  }
}

std::string written(double magnitude, std::chars_format format, int precision) {
  char buffer[512];
  const auto end = buffer + sizeof buffer;
  const auto result = precision < 0 ? std::to_chars(buffer, end, magnitude, format)
                                    : std::to_chars(buffer, end, magnitude, format, precision);
  return result.ec == std::errc() ? std::string(buffer, result.ptr) : std::string();
}

// Python's str(): the shortest digits that read back the same, with a point or an exponent.
std::string shortest(double magnitude) {
  const bool is_fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  if (!is_fixed) return written(magnitude, std::chars_format::scientific, -1);
  std::string text = written(magnitude, std::chars_format::fixed, -1);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

// Python's own format with a precision: as g, but a point is always there, and the exponent comes
// one digit earlier to leave room for it.
std::string short_with_point(double magnitude, int precision) {
  std::string text = written(magnitude, std::chars_format::scientific, precision - 1);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;  // no number, or infinite: it has no exponent
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent >= -4 && exponent < precision - 1) {
    text = written(magnitude, std::chars_format::general, precision);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return mantissa + text.substr(e);
}

// With #, which keeps zeros at the end; from 1e`most_fixed` on with an exponent.
std::string with_all_digits(double magnitude, int precision, int most_fixed) {
  const std::string text = written(magnitude, std::chars_format::scientific, precision - 1);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= most_fixed) return text;
  return written(magnitude, std::chars_format::fixed, precision - 1 - exponent);
}

std::string with_point(std::string text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool is_number = end > 0;
  if (is_number && (end == text.size() || text[end] != '.')) text.insert(end, 1, '.');
  return text;
}

std::string real_digits(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  const int digits = std::max(1, precision);  // of those that count digits before the point too
  switch (spec.type) {
    case 'f':
    case 'F':
      return written(magnitude, std::chars_format::fixed, precision);
    case 'e':
    case 'E':
      return written(magnitude, std::chars_format::scientific, precision);
    case '%':
      return written(magnitude * 100, std::chars_format::fixed, precision) + '%';
    case '\0':
      if (spec.precision < 0) return shortest(magnitude);
      if (spec.alternate) return with_all_digits(magnitude, digits, digits - 1);
      return short_with_point(magnitude, digits);
    default:
      if (spec.alternate) return with_all_digits(magnitude, digits, digits);
      return written(magnitude, std::chars_format::general, digits);
  }
}

}  // namespace

FormattedValue format_integer(std::int64_t value, const FormatSpec& given) {
  if (std::string_view("eEfFgG%").find(given.type) != std::string_view::npos &&
      given.type != '\0') {
    return format_real(static_cast<double>(value), given);
  }
  if (given.type == 's') return {{}, "format s is for text, and this is a number"};
  if (given.precision >= 0) return {{}, "a whole number takes no precision"};
  FormatSpec spec = given;
  const int base = base_of(spec.type);
  if (spec.grouping == ',' && base != 10) return {{}, "',' does not go with this format"};
  if (spec.zero && spec.align == '\0') spec.align = '=';
  const std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  NumberParts parts;
  parts.sign = sign_of(value < 0, spec.sign);
  if (spec.alternate && base != 10) parts.prefix = std::string("0") + spec.type;
  parts.digits = digits_in_base(magnitude, base, spec.type == 'X');
  parts.group = base == 10 ? 3 : 4;
  return {joined(parts, spec), {}};
}

FormattedValue format_real(double value, const FormatSpec& given) {
  if (std::string_view("bdosxX").find(given.type) != std::string_view::npos && given.type != '\0') {
    return {{}, std::string("format ") + given.type + " is not for a number of seconds"};
  }
  FormatSpec spec = given;
  if (spec.zero && spec.align == '\0') spec.align = '=';
  std::string text = real_digits(std::abs(value), spec);
  if (text.empty()) return {{}, "the number is too long"};
  if (spec.alternate) text = with_point(std::move(text));
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const std::size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  NumberParts parts;
  parts.sign = sign_of(std::signbit(value), spec.sign);
  parts.digits = text.substr(0, whole);
  parts.rest = text.substr(whole);
  return {joined(parts, spec), {}};
}

FormattedValue format_text(std::string_view value, const FormatSpec& spec) {
  if (spec.type != '\0' && spec.type != 's') {
    return {{}, std::string("format ") + spec.type + " is for numbers, and this is text"};
  }
  const bool is_numeric =
      spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouping != '\0';
  if (is_numeric) return {{}, "this format is for numbers, and this is text"};
  if (spec.precision >= 0) {
    std::size_t end = 0;
    for (int i = 0; i < spec.precision && end < value.size(); ++i) {
      end += std::max<std::size_t>(1, utf8_length(value.substr(end)));
    }
    value = value.substr(0, end);
  }
  const char align = spec.align != '\0' ? spec.align : '<';
  return {padded(std::string(value), {}, spec, align), {}};
}

}  // namespace traceagent::config
