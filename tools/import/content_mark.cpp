#include "tools/import/content_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <vector>

#include "tools/import/crc32.hpp"

namespace traceagent::tools {

void ContentMark::add(const char* bytes, std::size_t size) {
  crc_ = crc32(crc_, bytes, size);
  bytes_ += size;
}

std::string ContentMark::text() const {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%08x-%llu", crc_,
                static_cast<unsigned long long>(bytes_));
  return text.data();
}

std::string content_mark(const std::string& path, std::uint64_t most_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return {};
  std::vector<char> buffer(std::size_t{256} << 10);
  ContentMark mark;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, buffer.data(), std::min<std::uint64_t>(buffer.size(), most_bytes));
    if (got > 0) mark.add(buffer.data(), static_cast<std::size_t>(got));
    if (got > 0) most_bytes -= static_cast<std::uint64_t>(got);
  } while (got > 0 || (got < 0 && errno == EINTR));
  ::close(descriptor);
  return got < 0 ? std::string() : mark.text();
}

bool begins_with(const std::string& path, const std::string& mark) {
  const std::size_t dash = mark.find('-');
  std::uint64_t bytes = 0;
  if (dash == std::string::npos) return false;
  const char* const end = mark.data() + mark.size();
  const auto [at, error] = std::from_chars(mark.data() + dash + 1, end, bytes);
  return error == std::errc() && at == end && bytes > 0 && content_mark(path, bytes) == mark;
}

}  // namespace traceagent::tools
