#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// Looks into JSON text that our own writer made, without building a tree: values are returned as
// the text that stands there. Text that is not JSON gives nothing rather than an error.
namespace traceagent::trace {

// The members of an object in order: `visit(key as written between its quotes, value)`.
void for_each_member(std::string_view object,
                     const std::function<void(std::string_view, std::string_view)>& visit);
void for_each_element(std::string_view array, const std::function<void(std::string_view)>& visit);

std::optional<std::string_view> member(std::string_view object, std::string_view key);
std::optional<std::int64_t> integer_member(std::string_view object, std::string_view key);
// The text between the quotes, escapes as they stand; nothing when the member is no string.
std::optional<std::string_view> string_member(std::string_view object, std::string_view key);

// The text that a JSON string, without its quotes, stands for. Half of a surrogate pair becomes
// U+FFFD.
std::string unescaped(std::string_view escaped);

// Without what stands between its tokens, as json.dump writes it where others write nothing. In
// `buffer`, where there is any.
std::string_view without_spaces(std::string_view json, std::string& buffer);

std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace traceagent::trace
