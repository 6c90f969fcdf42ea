#pragma once

#include <cstdint>

#include "tools/import/object_scan.hpp"
#include "tools/import/text_window.hpp"

namespace traceagent::tools {

// What a document says before its events, where it is damaged.

// At a quote: a key and a colon. Of what is longer than a window nobody's file has a key.
bool begins_with_key(TextWindow& window);

// The value of a member that begins at `at`, which moves behind it, or to where it cannot go on.
// Behind a text a comma, a key or the end must follow: else a quote is missing, or one too many.
Scan scan_member_value(const char*& at, const char* end);

// Moves to where a member may begin: a key and a colon, directly behind a comma or a line break.
// False: none is found before the text ends, zeros begin, or `last` of the text is reached.
bool find_member(TextWindow& window, std::uint64_t last);

}  // namespace traceagent::tools
