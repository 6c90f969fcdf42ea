#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// What is nested deeper is refused; our own files reach 8.
inline constexpr int deepest_json = 60;

// Whether the text is one JSON value (RFC 8259, in UTF-8) and nothing beside it, no space either.
// Numbers must fit 64 bits or a double, as what reads traces wants them. Fast enough to be asked of
// every event of a merge.
bool is_whole_value(std::string_view text) noexcept;
bool is_whole_object(std::string_view text) noexcept;

struct JsonMember {
  std::string_view key;    // as written between its quotes
  std::string_view value;  // as written
};

// The bytes of the object that `text` begins with, whatever follows it, and its members; 0 where
// no whole one does, and then they mean nothing.
std::size_t whole_object_at(std::string_view text, std::vector<JsonMember>& members);

}  // namespace traceagent::trace
