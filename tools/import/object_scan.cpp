#include "tools/import/object_scan.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "agent/trace/json_bytes.hpp"

namespace traceagent::tools {

namespace {

const char* after_spaces(const char* at) {
  while (is_json_space(*at)) {
    ++at;
  }
  return at;
}

// Behind the object or array that begins at `at`, or at a zero within; null: it does not end.
const char* after_nested(const char* at, const char* end) {
  int depth = 0;
  while (true) {
    const char c = *at;
    if (c == '"') {
      at = after_string(at, end);
      if (at == nullptr) {
        return nullptr;
      }
      continue;
    }
    if (c == '\0') {
      return at >= end ? nullptr : at;
    }
    // '[' and '{', ']' and '}' differ in this bit alone.
    const int folded = c | 0x20;
    depth += folded == '{' ? 1 : 0;
    depth -= folded == '}' ? 1 : 0;
    ++at;
    if (depth == 0) {
      return at;
    }
  }
}

const char* after_word(const char* at) {
  while (*at != ',' && *at != '}' && *at != ']' && *at > ' ') {
    ++at;
  }
  return at;
}

const char* after_value(const char* at, const char* end) {
  if (*at == '"') {
    return after_string(at, end);
  }
  return *at == '{' || *at == '[' ? after_nested(at, end) : after_word(at);
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

Scan scan_object(const char* at, const char* end, ScannedObject& object) {
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
    at = after_value(value, end);
    if (at == nullptr || at >= end) {
      return Scan::more;
    }
    if (at == value) {
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
