#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::tools {

// A file's bytes from `offset` on, `size` of them: hexadecimal SHA-256. Throws std::runtime_error
// where they cannot be read.
std::string sha256_of_file(int fd, std::uint64_t offset, std::uint64_t size);

std::string sha256_of(std::string_view text);

}  // namespace traceagent::tools
