#pragma once

#include <string>
#include <string_view>

namespace traceagent::config {

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

// On one line whatever it holds: control characters and invalid UTF-8 as \xNN, cut with "..." after
// about `longest` bytes. in_quotes() puts it in double quotes and cuts after 100.
std::string printable(std::string_view text, std::size_t longest = 4096);
std::string in_quotes(std::string_view text);

// A JSON string, with its quotes. Invalid UTF-8 becomes U+FFFD, so that any reader takes the line.
std::string json_string(std::string_view text);

bool has_control_character(std::string_view text);

// Bytes of the UTF-8 character at the beginning of a text that is not empty; 0 when it is not one.
std::size_t utf8_length(std::string_view text);

// All of it: what is not has no place in JSON, where names of files are kept.
bool is_utf8(std::string_view text);

}  // namespace traceagent::config
