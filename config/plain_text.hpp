#pragma once

#include <string>
#include <string_view>

namespace traceagent::config {

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

// In double quotes, on one line whatever it holds: control characters and invalid UTF-8 as \xNN,
// cut with "..." after 100 bytes.
std::string quoted(std::string_view text);

// A JSON string, with its quotes. Invalid UTF-8 becomes U+FFFD, so that any reader takes the line.
std::string json_string(std::string_view text);

bool has_control_character(std::string_view text);

// Bytes of the UTF-8 character at the beginning of a text that is not empty; 0 when it is not one.
std::size_t utf8_length(std::string_view text);

}  // namespace traceagent::config
