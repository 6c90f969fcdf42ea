#pragma once
// A fuzzer's bytes, taken piece by piece; zeroes when they are used up.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace traceagent::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return left_; }

  std::string_view take(std::size_t bytes) noexcept {
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(taken.size());
    return taken;
  }
  // What comes before the next `separator`, which is passed over.
  std::string_view take_until(char separator) noexcept {
    const std::string_view taken = left_.substr(0, left_.find(separator));
    left_.remove_prefix(std::min(taken.size() + 1, left_.size()));
    return taken;
  }
  template <class T>
  T number() noexcept {
    T value{};
    const std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

 private:
  std::string_view left_;
};

}  // namespace traceagent::fuzz
