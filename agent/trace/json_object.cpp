#include "agent/trace/json_object.hpp"

namespace traceagent::trace {

namespace {

std::string in_quotes(std::string_view text) {
  std::string result(escaped_bound(text.size()), '\0');
  const char* end = put_string(result.data(), text);
  result.resize(static_cast<std::size_t>(end - result.data()));
  return result;
}

}  // namespace

JsonValue::JsonValue(double value) {
  char text[max_double_chars];
  text_.assign(text, put_double(text, value));
}

JsonValue::JsonValue(std::string_view value) : text_(in_quotes(value)) {}

JsonValue::JsonValue(const JsonObject& value) : text_(value.text()) {}

JsonValue::JsonValue(const JsonArray& value) : text_(value.text()) {}

JsonArray& JsonArray::add(const JsonValue& value) {
  items_.append(items_.empty() ? "" : ", ").append(value.text());
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonValue& value) {
  members_.append(members_.empty() ? "" : ", ").append(in_quotes(key));
  members_.append(": ").append(value.text());
  return *this;
}

JsonObject& JsonObject::add_all(const JsonObject& other) {
  members_.append(members_.empty() || other.empty() ? "" : ", ").append(other.members_);
  return *this;
}

}  // namespace traceagent::trace
