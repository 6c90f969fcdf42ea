#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/import/text_window.hpp"

namespace traceagent::tools {

// The JSON value that a window of text begins with, of whatever size: it is passed over, and its
// first bytes are kept.
class MemberValue {
 public:
  static constexpr std::size_t most_bytes = std::size_t{256} << 10;

  explicit MemberValue(TextWindow& window) : window_(window) {}

  // False: it does not end, or zeros are within.
  bool pass();
  // Of an object: what is nested within it becomes "left out: <n> bytes" where it has no room, and
  // what is behind that is kept.
  bool pass_leaving_nested_out() { return pass_bracketed(true); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool pass_bracketed(bool leaves_nested_out);
  void leave_out_nested(std::size_t copied, std::uint64_t begin);
  void copy_until(const char* end);

  TextWindow& window_;
  std::string text_;
};

}  // namespace traceagent::tools
