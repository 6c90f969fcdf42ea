#pragma once

#include <cstdint>
#include <string>

namespace traceagent::tools {

// "512 B", "1.5 MiB", "64 MiB".
std::string size_in_words(std::uint64_t bytes);

// "12 s", "5 min", "3 h", "9 days"; what is in the future is "0 s".
std::string age_in_words(std::int64_t age_ns);

}  // namespace traceagent::tools
