#include "tools/import/object_scan.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "agent/trace/json_bytes.hpp"

namespace traceagent::tools {

namespace {

const char* after_spaces(const char* at) {
  while (is_json_space(*at)) {
    ++at;
  }
  return at;
}

// As JSON's repair has them.
bool is_word_end(char c) {
  return is_json_space(c) || c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' ||
         c == ']' || c == '\0';
}

// An object or array by its brackets, quotes and what may stand between them. The closers of an
// event that is torn are missing: what closes it then is another's, of the document or of an event
// behind it, and only the wrong kind of bracket, or an object where a key must be, tells that.
class NestedScan {
 public:
  NestedScan(const char* at, const char* end, Within within)
      : at_(at), end_(end), within_(within) {}

  // From the bracket at at() to behind the one that closes it, or to what cannot stand there.
  Scan pass() {
    while (true) {
      while (is_json_space(*at_)) ++at_;
      if (at_ >= end_) return Scan::more;
      const Scan scan = take();
      if (scan != Scan::whole || open_.empty()) return scan;
    }
  }
  [[nodiscard]] const char* at() const { return at_; }

 private:
  enum class Next { key, colon, value, comma };
  struct Bracket {
    enum : char { object = 1, behind_comma = 2, has_phase = 4 };
  };

  // whole: it may stand here, and was passed.
  Scan take() {
    switch (*at_) {
      case '"':
        return take_string();
      case '{':
      case '[':
        return open_bracket();
      case '}':
      case ']':
        return close_bracket();
      case ',':
        return take_comma();
      case ':':
        return take_sign(Next::colon, Next::value);
      case '\0':
        return Scan::broken;
      default:
        return take_word();
    }
  }

  Scan take_sign(Next wanted, Next next) {
    if (next_ != wanted) return Scan::broken;
    next_ = next;
    ++at_;
    return Scan::whole;
  }

  // Of a key or a value; false: neither is wanted.
  bool take_text() {
    if (next_ != Next::key && next_ != Next::value) return false;
    next_ = next_ == Next::key ? Next::colon : Next::comma;
    return true;
  }

  Scan take_string() {
    const bool is_key = next_ == Next::key;
    if (!take_text()) return Scan::broken;
    const char* const begin = at_;
    const char* const behind = after_string(at_, end_);
    if (behind == nullptr) return Scan::more;
    at_ = behind;
    constexpr std::string_view phase = R"("ph")";
    if (is_key && std::string_view(begin, static_cast<std::size_t>(behind - begin)) == phase) {
      open_.back() |= Bracket::has_phase;
    }
    return Scan::whole;
  }

  Scan take_word() {
    if (!take_text()) return Scan::broken;
    while (!is_word_end(*at_)) ++at_;
    return Scan::whole;
  }

  Scan take_comma() {
    const Scan scan = take_sign(Next::comma, is_in_object() ? Next::key : Next::value);
    is_behind_comma_ = true;
    return scan;
  }

  Scan open_bracket() {
    if (next_ != Next::value) return Scan::broken;
    const bool is_element = is_behind_comma_ && !open_.empty() && !is_in_object();
    const bool is_object = *at_ == '{';
    open_.push_back(static_cast<char>((is_object ? Bracket::object : 0) |
                                      (is_element ? Bracket::behind_comma : 0)));
    next_ = is_object ? Next::key : Next::value;
    is_behind_comma_ = false;
    ++at_;
    return Scan::whole;
  }

  // Viewers take a comma before it.
  Scan close_bracket() {
    const bool is_kind = is_in_object() == (*at_ == '}');
    const bool may_close =
        next_ == Next::comma || next_ == (is_in_object() ? Next::key : Next::value);
    constexpr char event = Bracket::object | Bracket::behind_comma | Bracket::has_phase;
    const bool is_event = (open_.back() & event) == event;
    if (!is_kind || !may_close) return Scan::broken;
    if (is_event && within_ == Within::no_events) return Scan::broken;
    open_.pop_back();
    next_ = Next::comma;
    ++at_;
    return Scan::whole;
  }

  [[nodiscard]] bool is_in_object() const { return (open_.back() & Bracket::object) != 0; }

  const char* at_;
  const char* end_;
  Within within_;
  std::string open_;  // the brackets around at_, Bracket's bits
  Next next_ = Next::value;
  bool is_behind_comma_ = false;
};

const char* after_word(const char* at) {
  while (!is_word_end(*at) && *at > ' ') ++at;
  return at;
}

// To behind the value at `at`.
Scan pass_value(const char*& at, const char* end, Within within) {
  if (*at == '{' || *at == '[') {
    return scan_nested(at, end, within);
  }
  const char* const begin = at;
  const char* const behind = *at == '"' ? after_string(at, end) : after_word(at);
  if (behind == nullptr) return Scan::more;
  at = behind;
  return at == begin && at < end ? Scan::broken : Scan::whole;
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

const char* after_string(const char* at, const char* end) {
  ++at;
  while (at < end) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    std::uint64_t special = trace::special_bytes(word);
    if constexpr (std::endian::native == std::endian::little) {
      if (special == 0) {
        at += 8;
        continue;
      }
      at += std::countr_zero(special) / 8;
    } else {
      while (trace::is_plain(static_cast<unsigned char>(*at))) ++at;
    }
    if (at >= end) {
      return nullptr;
    }
    if (*at == '"') {
      return at + 1;
    }
    if (*at == '\0') {
      return at;
    }
    at += *at == '\\' ? 2 : 1;
  }
  return nullptr;
}

Scan scan_nested(const char*& at, const char* end, Within within) {
  NestedScan nested(at, end, within);
  const Scan scan = nested.pass();
  at = nested.at();
  return scan;
}

Scan scan_object(const char* at, const char* end, ScannedObject& object, Within within) {
  const char* const begin = at;
  object.members.clear();
  const auto more_or_broken = [&](const char* place) {
    object.text = between(begin, place == nullptr ? end : place);
    return place == nullptr || place >= end ? Scan::more : Scan::broken;
  };
  at = after_spaces(at + 1);
  while (*at != '}') {
    if (*at != '"') {
      return more_or_broken(at);
    }
    const char* const key = at;
    const char* const key_end = after_string(at, end);
    if (key_end == nullptr) {
      return Scan::more;
    }
    at = after_spaces(key_end);
    if (*at != ':') {
      return more_or_broken(at);
    }
    const char* const value = after_spaces(at + 1);
    at = value;
    const Scan scan = pass_value(at, end, within);
    if (scan == Scan::more || at >= end) {
      return Scan::more;
    }
    if (scan == Scan::broken) {
      object.text = between(begin, at);
      return Scan::broken;
    }
    object.members.add({between(key + 1, key_end - 1), between(value, at)});
    at = after_spaces(at);
    if (*at == ',') {
      at = after_spaces(at + 1);
    } else if (*at != '}') {
      return more_or_broken(at);
    }
  }
  object.text = between(begin, at + 1);
  return Scan::whole;
}

}  // namespace traceagent::tools
