#pragma once

#include <optional>
#include <string>
#include <vector>

namespace traceagent::tools {

// The libraries that a shared object NEEDs (64-bit, this machine's byte order), as written there;
// nothing when it is no such file.
std::optional<std::vector<std::string>> elf_needed(const std::string& path);

}  // namespace traceagent::tools
