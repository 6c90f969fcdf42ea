#pragma once

#include <set>
#include <string>

namespace traceagent::tools {

// Those of the marks (content_mark.hpp) of shorter files whose text, or bytes, are the first of
// this one, plain or compressed. It is read once, as far as the longest of them, whatever their
// number; a compressed one twice: its text, and its bytes.
std::set<std::string> marks_of_beginnings(const std::string& path,
                                          const std::set<std::string>& marks);

}  // namespace traceagent::tools
