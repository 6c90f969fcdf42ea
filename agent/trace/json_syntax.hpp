#pragma once

#include <string_view>

namespace traceagent::trace {

// What is nested deeper is refused; our own files reach 8.
inline constexpr int deepest_json = 60;

// Whether the text is one JSON value (RFC 8259, in UTF-8) and nothing beside it, no space either.
// Numbers must fit 64 bits or a double, as what reads traces wants them. Fast enough to be asked of
// every event of a merge.
bool is_whole_value(std::string_view text) noexcept;
bool is_whole_object(std::string_view text) noexcept;

}  // namespace traceagent::trace
