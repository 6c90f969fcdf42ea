#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/json_text.hpp"

namespace traceagent::trace {

class JsonObject;
class JsonArray;

// One JSON value as text, for the one-line metadata; not made for speed.
class JsonValue {
 public:
  template <std::signed_integral Integer>
  JsonValue(Integer value) {
    char text[max_integer_chars];
    text_.assign(text, put_integer(text, value));
  }
  template <std::unsigned_integral Integer>
  requires(!std::same_as<Integer, bool>) JsonValue(Integer value) {
    char text[max_integer_chars];
    text_.assign(text, put_unsigned(text, value));
  }
  template <std::same_as<bool> Bool>
  JsonValue(Bool value) : text_(value ? "true" : "false") {}
  JsonValue(double value);
  JsonValue(std::string_view value);
  JsonValue(const std::string& value) : JsonValue(std::string_view(value)) {}
  JsonValue(const char* value) : JsonValue(std::string_view(value)) {}
  JsonValue(std::nullptr_t) : text_("null") {}
  JsonValue(const JsonObject& value);
  JsonValue(const JsonArray& value);
  template <typename Element>
  JsonValue(const std::vector<Element>& values);
  // Text that is valid JSON on one line already.
  static JsonValue raw(std::string json) {
    JsonValue value(nullptr);
    value.text_ = std::move(json);
    return value;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class JsonArray {
 public:
  JsonArray& add(const JsonValue& value);
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::string text() const { return "[" + items_ + "]"; }

 private:
  std::string items_;
};

// Members in the order in which they are added: add("rank", 3).add("host", name).add("clock",
// inner).
class JsonObject {
 public:
  JsonObject& add(std::string_view key, const JsonValue& value);
  // All members of `other`, behind those that are here.
  JsonObject& add_all(const JsonObject& other);
  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }
  // What is between the braces.
  [[nodiscard]] const std::string& members() const { return members_; }

 private:
  std::string members_;
};

template <typename Element>
JsonValue::JsonValue(const std::vector<Element>& values) {
  JsonArray array;
  for (const Element& value : values) {
    array.add(value);
  }
  text_ = array.text();
}

}  // namespace traceagent::trace
