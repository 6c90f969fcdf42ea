#include "tools/import/content_mark.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace traceagent::tools {

std::string content_mark(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return {};
  std::vector<unsigned char> buffer(std::size_t{256} << 10);
  uLong crc = crc32(0, nullptr, 0);
  unsigned long long bytes = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, buffer.data(), buffer.size());
    if (got > 0) {
      crc = crc32(crc, buffer.data(), static_cast<uInt>(got));
      bytes += static_cast<unsigned long long>(got);
    }
  } while (got > 0 || (got < 0 && errno == EINTR));
  ::close(descriptor);
  if (got < 0) return {};
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%08lx-%llu", crc, bytes);
  return text.data();
}

}  // namespace traceagent::tools
