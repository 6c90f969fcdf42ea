#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::tools {

// A file's bytes from `offset` on, `size` of them: hexadecimal SHA-256. Throws std::runtime_error
// where they cannot be read.
std::string sha256_of_file(int fd, std::uint64_t offset, std::uint64_t size);

std::string sha256_of(std::string_view text);

// Of no bytes. No object that libcrypto or memory fails to make before main, where nobody catches.
inline constexpr const char* empty_sha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace traceagent::tools
