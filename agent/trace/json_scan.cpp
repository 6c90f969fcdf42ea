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

constexpr std::size_t unit_bytes = 6;  // \uXXXX

// Of the escape that the text begins with, if that is such a one.
std::optional<unsigned> unit_of(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < unit_bytes || !text.starts_with("\\u")) {
    return std::nullopt;
  }
  const char* const end = text.data() + unit_bytes;
  const auto [at, error] = std::from_chars(text.data() + 2, end, unit, 16);
  return at == end && error == std::errc() ? std::optional(unit) : std::nullopt;
}

// The one that begins with `unit`, which `text` begins with, and of which it loses all.
unsigned take_character(unsigned unit, std::string_view& text) {
  constexpr unsigned replacement = 0xFFFD;
  text.remove_prefix(unit_bytes);
  if (unit < 0xD800 || unit >= 0xE000) {
    return unit;
  }
  const unsigned low = unit_of(text).value_or(0);
  if (unit >= 0xDC00 || low < 0xDC00 || low >= 0xE000) {
    return replacement;
  }
  text.remove_prefix(unit_bytes);
  return 0x10000 + ((unit - 0xD800) << 10U | (low - 0xDC00));
}

// In UTF-8.
void add_character(std::string& text, unsigned character) {
  const auto add_rest = [&text, character](unsigned shift) {
    text += static_cast<char>(0x80U | (character >> shift & 0x3FU));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0U | character >> 6U);
    add_rest(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0U | character >> 12U);
    add_rest(6);
    add_rest(0);
  } else {
    text += static_cast<char>(0xF0U | character >> 18U);
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

// Behind a backslash.
char meant_by(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

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
  while (!escaped.empty()) {
    if (const std::optional<unsigned> unit = unit_of(escaped)) {
      add_character(text, take_character(*unit, escaped));
      continue;
    }
    const bool is_escape = escaped.front() == '\\' && escaped.size() > 1;
    text += is_escape ? meant_by(escaped[1]) : escaped.front();
    escaped.remove_prefix(is_escape ? 2 : 1);
  }
  return text;
}

std::string_view without_spaces(std::string_view json, std::string& buffer) {
  constexpr std::string_view spaces = " \t\r\n";
  if (json.find_first_of(spaces) == json.npos) return json;
  buffer.clear();
  bool is_in_string = false;
  bool is_escaped = false;
  for (const char letter : json) {
    if (!is_in_string && spaces.find(letter) != spaces.npos) continue;
    buffer += letter;
    if (letter == '"' && !is_escaped) is_in_string = !is_in_string;
    is_escaped = letter == '\\' && !is_escaped;
  }
  return buffer;
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
