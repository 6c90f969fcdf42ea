#pragma once
// Texts of a table, one behind the other. A table of string_views is an address for each, which the
// loader has to fill in: a page is copied for every 170 of them at every start of every process.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traceagent::api {

template <std::size_t count, std::size_t bytes>
class PackedTexts {
  static_assert(bytes <= UINT16_MAX);

 public:
  constexpr explicit PackedTexts(const std::array<std::string_view, count>& texts) noexcept {
    std::size_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      begins_[i] = static_cast<std::uint16_t>(end);
      std::copy(texts[i].begin(), texts[i].end(), &bytes_[end]);
      end += texts[i].size() + 1;
    }
    begins_[count] = static_cast<std::uint16_t>(end);
  }

  static constexpr std::size_t size() noexcept { return count; }
  /// A zero stands behind each, as behind a literal.
  constexpr std::string_view operator[](std::size_t i) const noexcept {
    return {&bytes_[begins_[i]], static_cast<std::size_t>(begins_[i + 1] - begins_[i] - 1)};
  }

 private:
  std::array<char, bytes> bytes_{};
  std::array<std::uint16_t, count + 1> begins_{};
};

/// Of what `texts`, without arguments and captures, returns: an array of string_views.
template <class Texts>
consteval auto packed(Texts) {
  constexpr auto texts = Texts{}();
  constexpr std::size_t bytes = [&] {
    std::size_t sum = texts.size();
    for (const std::string_view each : texts) sum += each.size();
    return sum;
  }();
  return PackedTexts<texts.size(), bytes>(texts);
}

}  // namespace traceagent::api
