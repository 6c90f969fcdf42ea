#include "agent/trace/json_scan.hpp"

#include <charconv>

namespace traceagent::trace {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  void skip_space() {
    while (!rest_.empty() && is_space(rest_.front())) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char expected) {
    skip_space();
    if (rest_.empty() || rest_.front() != expected) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  // One value of any kind; nothing at the end or where the text is broken.
  std::optional<std::string_view> take_value() {
    skip_space();
    const std::size_t size = value_size();
    if (size == 0 || size > rest_.size()) {
      return std::nullopt;
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }

 private:
  // Past the closing quote of a string that opens at `at`; npos when it does not close.
  [[nodiscard]] std::size_t after_string(std::size_t at) const {
    for (++at; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        return at + 1;
      }
    }
    return std::string_view::npos;
  }

  [[nodiscard]] std::size_t value_size() const {
    std::size_t depth = 0;
    std::size_t at = 0;
    while (at < rest_.size()) {
      const char c = rest_[at];
      if (c == '"') {
        at = after_string(at);
        if (at == std::string_view::npos || depth == 0) {
          return at == std::string_view::npos ? 0 : at;
        }
        continue;
      }
      if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth <= 1) {
          return at + depth;  // depth 0: a number that its container's end follows
        }
        --depth;
      } else if (depth == 0 && (c == ',' || is_space(c))) {
        return at;
      }
      ++at;
    }
    return depth == 0 ? at : 0;
  }

  std::string_view rest_;
};

}  // namespace

void for_each_member(std::string_view object,
                     const std::function<void(std::string_view, std::string_view)>& visit) {
  Cursor cursor(object);
  if (!cursor.take('{')) {
    return;
  }
  do {
    const auto key = cursor.take_value();
    if (!key || key->size() < 2 || key->front() != '"' || !cursor.take(':')) {
      return;
    }
    const auto value = cursor.take_value();
    if (!value) {
      return;
    }
    visit(key->substr(1, key->size() - 2), *value);
  } while (cursor.take(','));
}

void for_each_element(std::string_view array, const std::function<void(std::string_view)>& visit) {
  Cursor cursor(array);
  if (!cursor.take('[')) {
    return;
  }
  do {
    const auto value = cursor.take_value();
    if (!value) {
      return;
    }
    visit(*value);
  } while (cursor.take(','));
}

std::optional<std::string_view> member(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  for_each_member(object, [&](std::string_view name, std::string_view value) {
    if (name == key && !found) {
      found = value;
    }
  });
  return found;
}

std::optional<std::int64_t> integer_member(std::string_view object, std::string_view key) {
  const auto value = member(object, key);
  return value ? parse_integer(*value) : std::nullopt;
}

std::optional<std::string_view> string_member(std::string_view object, std::string_view key) {
  const auto value = member(object, key);
  if (!value || value->size() < 2 || value->front() != '"') {
    return std::nullopt;
  }
  return value->substr(1, value->size() - 2);
}

std::string unescaped(std::string_view escaped) {
  std::string text;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '\\' && i + 1 < escaped.size()) ++i;
    text += escaped[i];
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace traceagent::trace
