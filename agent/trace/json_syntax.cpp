#include "agent/trace/json_syntax.hpp"

#include <array>
#include <cstdint>

#include "agent/trace/byte_scan.hpp"

namespace traceagent::trace {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// Each function takes a piece from the front, and says whether it was there. What every event has
// is inlined by force: that takes a fifth off the time.
class Syntax {
 public:
  explicit Syntax(std::string_view text, int deepest = deepest_json)
      : at_(text.data()), end_(text.data() + text.size()), deepest_(deepest) {}

  // One value, from the first byte to the last.
  bool take_all() { return take_whole(0) && at_ == end_; }

  // An object with its members, which are whole values.
  bool take_object(JsonMembers& members) {
    if (at_ == end_ || *at_ != '{') {
      return false;
    }
    open(true);
    if (next() == '}') {
      close();
      return true;
    }
    while (true) {
      JsonMember member;
      if (next() != '"' || !take_text(member.key) || next() != ':') {
        return false;
      }
      ++at_;
      next();
      const char* const value = at_;
      if (!take_whole(1)) {
        return false;
      }
      member.value = since(value);
      members.add(member);
      const char behind = next();
      if (behind != ',' && behind != '}') {
        return false;
      }
      if (behind == '}') {
        close();
        return true;
      }
      ++at_;
    }
  }

  [[nodiscard]] const char* at() const { return at_; }

 private:
  [[nodiscard]] std::string_view since(const char* begin) const {
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  [[gnu::always_inline]] inline bool take_text(std::string_view& inside) {
    const char* const quote = at_;
    const bool is_there = take_string();
    inside = since(quote + 1).substr(0, is_there ? static_cast<std::size_t>(at_ - quote) - 2 : 0);
    return is_there;
  }

  // A value with all that is nested in it; `outside` is the depth at which it begins.
  [[gnu::always_inline]] inline bool take_whole(int outside) {
    do {
      if (!take_value()) {
        return false;
      }
      while (depth_ > outside && next() == closing()) {
        close();
      }
      if (depth_ == outside) {
        return true;
      }
      if (next() != ',') {
        return false;
      }
      ++at_;
    } while (!is_in_object() || take_key());
    return false;
  }

  [[nodiscard]] bool is_in_object() const { return (objects_ & 1U) != 0; }
  [[nodiscard]] char closing() const { return is_in_object() ? '}' : ']'; }

  // The next byte that is no space; 0 at the end.
  [[gnu::always_inline]] inline char next() {
    while (at_ != end_ && is_space(*at_)) [[unlikely]] {
        ++at_;
      }
    return at_ != end_ ? *at_ : '\0';
  }

  static constexpr unsigned levels = 64;

  void open(bool is_object) {
    if (static_cast<unsigned>(depth_) % levels == levels - 1) [[unlikely]] {
      outer_[static_cast<unsigned>(depth_) / levels] = objects_;
    }
    ++at_;
    ++depth_;
    objects_ = objects_ << 1 | (is_object ? 1U : 0U);
  }
  void close() {
    ++at_;
    --depth_;
    objects_ >>= 1;
    if (static_cast<unsigned>(depth_) % levels == levels - 1) [[unlikely]] {
      objects_ = outer_[static_cast<unsigned>(depth_) / levels];
    }
  }

  // A value without what is nested in it: of an object its brace and its first key, of an array its
  // bracket; of an empty one both.
  bool take_value() {
    while (true) {
      const char c = at_ != end_ && !is_space(*at_) ? *at_ : (depth_ > 0 ? next() : '\0');
      if (c == '"') {
        return take_string();
      }
      if (is_digit(c) || c == '-') {
        return take_number();
      }
      if (c != '{' && c != '[') {
        return take_word("true") || take_word("false") || take_word("null");
      }
      if (depth_ >= deepest_) {
        return false;
      }
      open(c == '{');
      if (next() == closing()) {
        close();
        return true;
      }
      if (c == '{' && !take_key()) {
        return false;
      }
    }
  }

  [[gnu::noinline, gnu::cold]] bool take_word(std::string_view word) {
    const bool is_there = std::string_view(at_, left()).starts_with(word);
    at_ += is_there ? word.size() : 0;
    return is_there;
  }

  [[gnu::always_inline]] inline bool take_key() {
    if (next() != '"' || !take_string() || next() != ':') {
      return false;
    }
    ++at_;
    return true;
  }

  [[gnu::always_inline]] inline bool take_string() {
    ++at_;
    while (true) {
      at_ = after_plain(at_, end_);
      if (at_ == end_) {
        return false;
      }
      const char c = *at_;
      if (c == '"') [[likely]] {
        ++at_;
        return true;
      }
      if (c == '\\' ? !take_escape() : !take_utf8()) {
        return false;
      }
    }
  }

  [[gnu::noinline, gnu::cold]] bool take_utf8() {
    const std::size_t length = utf8_sequence_length({at_, left()});
    at_ += length;
    return length != 0;  // 0 for control characters too
  }

  [[gnu::noinline, gnu::cold]] bool take_escape() {
    if (left() < 2) {
      return false;
    }
    const char c = at_[1];
    at_ += 2;
    if (c != 'u') {
      return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    }
    const int unit = take_unit();
    const bool is_high = unit >= 0xD800 && unit < 0xDC00;
    if (!is_high) {
      return unit >= 0 && (unit < 0xDC00 || unit >= 0xE000);
    }
    if (!take_word("\\u")) {
      return false;
    }
    const int low = take_unit();
    return low >= 0xDC00 && low < 0xE000;
  }

  // Four hexadecimal digits; -1 when they are not there.
  int take_unit() {
    int unit = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = at_ != end_ ? hex_digit(*at_) : -1;
      if (digit < 0) {
        return -1;
      }
      unit = unit << 4 | digit;
      ++at_;
    }
    return unit;
  }

  [[gnu::always_inline]] inline std::size_t take_digits() {
    const char* const first = at_;
    at_ = after_digits(at_, end_);
    return static_cast<std::size_t>(at_ - first);
  }

  [[gnu::always_inline]] inline bool take_number() {
    at_ += *at_ == '-' ? 1 : 0;
    const bool leads_with_zero = at_ != end_ && *at_ == '0';
    const std::size_t digits = take_digits();
    if (digits == 0 || (leads_with_zero && digits > 1) || digits > most_digits) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (take_digits() == 0) {
        return false;
      }
    }
    const bool has_exponent = at_ != end_ && (*at_ | 0x20) == 'e';
    return !has_exponent || take_exponent();
  }

  bool take_exponent() {
    ++at_;
    at_ += at_ != end_ && (*at_ == '+' || *at_ == '-') ? 1 : 0;
    return take_digits() != 0;
  }

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  const char* at_;
  const char* const end_;
  const int deepest_;
  int depth_ = 0;
  // A bit for each of the innermost 64 that are open, the very innermost last: no array. What they
  // were at every 64th level, for what lies further out.
  std::uint64_t objects_ = 0;
  std::array<std::uint64_t, deepest_metadata / levels + 1> outer_;
};

}  // namespace

bool is_whole_value(std::string_view text, int deepest) noexcept {
  return Syntax(text, deepest).take_all();
}

bool is_whole_object(std::string_view text, int deepest) noexcept {
  return text.starts_with('{') && is_whole_value(text, deepest);
}

std::size_t whole_object_at(std::string_view text, JsonMembers& members) {
  members.clear();
  Syntax syntax(text);
  return syntax.take_object(members) ? static_cast<std::size_t>(syntax.at() - text.data()) : 0;
}

}  // namespace traceagent::trace
