#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::config {

// Either a value, or a problem in words that say what is wrong with the text.
struct Quantity {
  std::uint64_t value = 0;
  std::string problem;
};

// Bytes: 1024, 512KiB, 64MiB, 1GiB, 64MB (powers of 1000); case does not matter.
Quantity parse_bytes(std::string_view text);

// Nanoseconds: 10us, 250ms, 5s, 2min, 1h, 7d. A number without a unit is refused, except 0.
Quantity parse_duration(std::string_view text);

// Millionths: 1%, 0.5%, 0.0001%. At most 100%; a number without % is refused, except 0.
Quantity parse_percent(std::string_view text);

// The shortest text that the parsers read back as the same number.
std::string show_bytes(std::uint64_t bytes);
std::string show_duration(std::uint64_t duration_ns);
std::string show_percent(std::uint64_t millionths);

inline namespace literals {
consteval std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
consteval std::uint64_t operator""_ms(unsigned long long n) { return n * 1'000'000; }
consteval std::uint64_t operator""_s(unsigned long long n) { return n * 1'000'000'000; }
consteval std::uint64_t operator""_days(unsigned long long n) { return n * 86'400'000'000'000; }
consteval std::uint64_t operator""_percent(unsigned long long n) { return n * 10'000; }
}  // namespace literals

}  // namespace traceagent::config
