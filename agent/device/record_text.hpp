#pragma once
// How device work is called, as Kineto calls it, and its facts as JSON members.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traceagent::device {

// Text into a buffer of the caller's; what does not fit is left out, member by member.
class FactsText {
 public:
  FactsText(char* buffer, std::size_t size) noexcept : buffer_(buffer), size_(size) {}

  FactsText& number(std::string_view key, std::int64_t value) noexcept;
  FactsText& triple(std::string_view key, const std::array<std::int32_t, 3>& values) noexcept;
  FactsText& fraction(std::string_view key, double value) noexcept;  // two decimals
  std::size_t size() const noexcept { return used_; }

 private:
  void append(std::string_view text) noexcept;
  void append_number(std::int64_t value) noexcept;
  void begin(std::string_view key) noexcept;
  void end() noexcept;

  char* buffer_;
  std::size_t size_;
  std::size_t used_ = 0;
  std::size_t kept_ = 0;  // up to here the members are whole
};

// Names live as long as the process.
std::string_view copy_kind_name(unsigned kind) noexcept;    // "HtoD"
std::string_view memory_kind_name(unsigned kind) noexcept;  // "Pinned"
std::string_view synchronisation_name(unsigned type) noexcept;
std::string_view overhead_name(unsigned kind) noexcept;

using NameBuffer = std::array<char, 96>;
std::string_view copy_name(unsigned kind, unsigned from, unsigned to, NameBuffer& buffer) noexcept;
std::string_view set_name(unsigned memory_kind, NameBuffer& buffer) noexcept;
std::string_view memory_name(bool is_release, unsigned memory_kind, NameBuffer& buffer) noexcept;

}  // namespace traceagent::device
