#pragma once

#include <string>

namespace traceagent::tools {

// Tells a file from all others of its name: "<crc32 of its bytes>-<how many>", whatever it is
// called and wherever it lies. All of it is read; empty where that fails.
std::string content_mark(const std::string& path);

}  // namespace traceagent::tools
