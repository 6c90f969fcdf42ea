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

// What an event's arrays may hold.
enum class Within {
  anything,
  no_events,  // an object with "ph" behind a comma is an event of the document: it is broken there
};

// The object that begins at `at`, and its members. What is nested is passed over by its brackets,
// quotes and what stands between them: whether it is JSON is trace::is_whole_value's to say, but
// what viewers take passes. A zero byte is in no text that anybody wrote: it is broken there.
// TextWindow::padding_bytes zero bytes must be readable at `end`.
Scan scan_object(const char* at, const char* end, ScannedObject& object,
                 Within within = Within::anything);

// The object or array that begins at `at`, which moves behind it, or to where it is broken.
Scan scan_nested(const char*& at, const char* end, Within within = Within::anything);

// The place behind the string that begins (with its quote) at `at`, or the first zero byte within;
// null: it does not end.
const char* after_string(const char* at, const char* end);

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
inline bool is_space_or_comma(char c) { return is_json_space(c) || c == ','; }

}  // namespace traceagent::tools
