#include "tools/import/exact_time.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "agent/trace/byte_scan.hpp"

namespace traceagent::tools {

namespace {

constexpr std::int64_t most_ns = 4'000'000'000'000'000'000;
constexpr int most_digits = 28;  // more than a picosecond of any time that is taken
constexpr int picosecond_digits = 6;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_quotes(std::string_view json) {
  const bool is_string = json.size() > 2 && json.front() == '"' && json.back() == '"';
  return is_string ? json.substr(1, json.size() - 2) : json;
}

struct Decimal {
  bool negative = false;
  unsigned __int128 digits = 0;
  int exponent = 0;  // digits * 10^exponent
};

// Digits beyond most_digits are cut off.
class DecimalText {
 public:
  explicit DecimalText(std::string_view text) : text_(text) {}

  bool parse(Decimal& decimal) {
    decimal.negative = take('-');
    bool any = take_digits(decimal, 0);
    if (take('.')) {
      any = take_digits(decimal, -1) || any;
    }
    return any && take_exponent(decimal) && text_.empty();
  }

 private:
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool take_digits(Decimal& decimal, int step) {
    bool any = false;
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1)) {
      any = true;
      if (count_ < most_digits) {
        decimal.digits = decimal.digits * 10 + static_cast<unsigned>(text_.front() - '0');
        count_ += decimal.digits == 0 ? 0 : 1;
        decimal.exponent += step;
      } else {
        decimal.exponent += step + 1;
      }
    }
    return any;
  }

  bool take_exponent(Decimal& decimal) {
    if (!take('e') && !take('E')) return true;
    take('+');
    int exponent = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), exponent);
    if (error != std::errc() || exponent > 1000 || exponent < -1000) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    decimal.exponent += exponent;
    return true;
  }

  std::string_view text_;
  int count_ = 0;
};

std::optional<ExactTime> in_time(const Decimal& decimal) {
  unsigned __int128 ps = decimal.digits;
  int exponent = decimal.exponent + picosecond_digits;
  constexpr auto most_ps = static_cast<unsigned __int128>(most_ns) * 1000;
  for (; exponent > 0 && ps != 0; --exponent) {
    ps *= 10;
    if (ps > most_ps) return std::nullopt;
  }
  for (; exponent < 0 && ps != 0; ++exponent) {
    ps /= 10;
  }
  if (ps > most_ps) return std::nullopt;
  ExactTime time{static_cast<std::int64_t>(ps / 1000), static_cast<std::int32_t>(ps % 1000)};
  if (decimal.negative) {
    time.ns = -time.ns - (time.ps > 0 ? 1 : 0);
    time.ps = time.ps > 0 ? 1000 - time.ps : 0;
  }
  return time;
}

// Eight digits, two and two and two of them at a time.
std::uint64_t eight_digits(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  if constexpr (std::endian::native != std::endian::little) word = __builtin_bswap64(word);
  word = (word & 0x0F0F0F0F0F0F0F0FU) * (10 << 8 | 1) >> 8;
  word = (word & 0x00FF00FF00FF00FFU) * (100 << 16 | 1) >> 16;
  return (word & 0x0000FFFF0000FFFFU) * (std::uint64_t{10000} << 32 | 1) >> 32;
}

// What nearly all times look like: up to 16 digits before the point and up to three behind it.
// False: it is not such a one. (An optional would be copied, and waited for, in the copying.)
bool parse_usual(std::string_view text, std::int64_t& ns) {
  const char* digit = text.data();
  const char* const behind = trace::after_digits(digit, digit + text.size());
  auto at = static_cast<std::size_t>(behind - digit);
  if (at == 0 || at > 16) return false;
  std::uint64_t value = 0;
  for (; behind - digit >= 8; digit += 8) value = value * 100'000'000 + eight_digits(digit);
  for (; digit != behind; ++digit) value = value * 10 + static_cast<std::uint64_t>(*digit - '0');
  std::size_t decimals = 0;
  if (at < text.size()) {
    if (text[at] != '.') return false;
    for (++at; at < text.size() && is_digit(text[at]) && decimals < 3; ++at, ++decimals) {
      value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    if (at != text.size() || decimals == 0) return false;
  }
  constexpr std::uint64_t scale[] = {1000, 100, 10, 1};
  value *= scale[decimals];
  if (value > static_cast<std::uint64_t>(most_ns)) return false;
  ns = static_cast<std::int64_t>(value);
  return true;
}

}  // namespace

ExactTime operator+(const ExactTime& a, const ExactTime& b) {
  const std::int32_t ps = a.ps + b.ps;
  return {a.ns + b.ns + ps / 1000, ps % 1000};
}

std::optional<ExactTime> parse_microseconds(std::string_view json) {
  json = without_quotes(json);
  std::int64_t ns = 0;
  if (parse_usual(json, ns)) [[likely]] {
    return ExactTime{ns, 0};
  }
  Decimal decimal;
  return DecimalText(json).parse(decimal) ? in_time(decimal) : std::nullopt;
}

std::optional<std::int64_t> parse_nanoseconds(std::string_view json) {
  Decimal decimal;
  if (!DecimalText(without_quotes(json)).parse(decimal)) return std::nullopt;
  decimal.exponent -= 3;  // in_time() takes microseconds
  const std::optional<ExactTime> time = in_time(decimal);
  return time ? std::optional(time->rounded_ns()) : std::nullopt;
}

}  // namespace traceagent::tools
