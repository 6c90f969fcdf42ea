#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace traceagent::tools {

// What is wrong with our own files, one line for each that is cut, damaged or unreadable. Each is
// read to its end. `on_read` is told of the bytes.
std::vector<std::string> damages_of(const std::vector<std::string>& files,
                                    const std::function<void(std::uint64_t)>& on_read);

}  // namespace traceagent::tools
