#pragma once

#include <string_view>

#include "agent/trace/json_syntax.hpp"

namespace traceagent::tools {

using trace::JsonMember;

struct ScannedObject {
  std::string_view text;  // from brace to brace; of one that is broken, as far as it was looked at
  trace::JsonMembers members;
};

enum class Scan {
  whole,
  more,    // the text ends within it
  broken,  // no object, whatever follows
};

// The object that begins at `at`, and its members. What is nested is passed over by its brackets
// and quotes alone: whether it is JSON is trace::is_whole_value's to say. But a zero byte is in no
// text that anybody wrote: it is broken there. TextWindow::padding_bytes
// zero bytes must be readable at `end`.
Scan scan_object(const char* at, const char* end, ScannedObject& object);

// The place behind the string that begins (with its quote) at `at`, or the first zero byte within;
// null: it does not end.
const char* after_string(const char* at, const char* end);

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace traceagent::tools
