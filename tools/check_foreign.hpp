#pragma once

#include <string>

namespace traceagent::tools {

// Of a file that is none of ours as we wrote it: what it is, and who reads it. One line.
std::string foreign_in_words(const std::string& path);

}  // namespace traceagent::tools
