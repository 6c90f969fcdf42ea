#pragma once

#include <string>
#include <string_view>

namespace traceagent::tools {

// What viewers or Python take for JSON, as JSON: NaN and Infinity become null, other words (.5,
// 0x1f, numbers of thousands of digits) become strings of the same characters, control characters
// and escapes that do not exist are escaped, bytes that are not UTF-8 become U+FFFD, a comma before
// a bracket goes. False: it is not to be helped.
bool repair_json(std::string_view text, std::string& repaired);

}  // namespace traceagent::tools
