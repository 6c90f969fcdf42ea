#include "tools/import/content_mark.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "tools/import/crc32.hpp"

namespace traceagent::tools {

void ContentMark::add(const char* bytes, std::size_t size) {
  crc_ = crc32(crc_, bytes, size);
  bytes_ += size;
}

std::string ContentMark::text() const { return text_of(crc_, bytes_); }

std::string ContentMark::text_of(std::uint32_t crc, std::uint64_t bytes) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%08x-%llu", crc, static_cast<unsigned long long>(bytes));
  return text.data();
}

namespace {

// From where the descriptor is. How many there were; nothing: they cannot be read.
std::optional<std::uint64_t> add_bytes(int descriptor, std::uint64_t most_bytes,
                                       ContentMark& mark) {
  std::vector<char> buffer(std::size_t{256} << 10);
  std::uint64_t done = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, buffer.data(),
                 std::min<std::uint64_t>(buffer.size(), most_bytes - done));
    if (got > 0) mark.add(buffer.data(), static_cast<std::size_t>(got));
    if (got > 0) done += static_cast<std::uint64_t>(got);
  } while (got > 0 || (got < 0 && errno == EINTR));
  return got < 0 ? std::nullopt : std::optional(done);
}

// RFC 1952: what a file of one member says of its text, little-endian.
struct GzipTrailer {
  std::uint32_t crc = 0;
  std::uint32_t text_bytes = 0;  // modulo 2^32
};

std::optional<GzipTrailer> trailer_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  struct stat facts {};
  std::array<unsigned char, 8> trailer{};
  const bool is_read = fstat(descriptor, &facts) == 0 &&
                       pread(descriptor, trailer.data(), trailer.size(), facts.st_size - 8) == 8;
  ::close(descriptor);
  const auto number_at = [&trailer](std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 4; i-- > 0;) number = number << 8U | trailer[at + i];
    return number;
  };
  return is_read ? std::optional(GzipTrailer{number_at(0), number_at(4)}) : std::nullopt;
}

}  // namespace

std::string content_mark(const std::string& path, std::uint64_t most_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return {};
  ContentMark mark;
  const bool is_read = add_bytes(descriptor, most_bytes, mark).has_value();
  ::close(descriptor);
  return is_read ? mark.text() : std::string();
}

std::string mark_of_gzip_text(const std::string& path, std::uint64_t text_bytes) {
  const std::optional<GzipTrailer> trailer = trailer_of(path);
  const bool is_whole_text =
      trailer && trailer->text_bytes == static_cast<std::uint32_t>(text_bytes);
  return is_whole_text ? ContentMark::text_of(trailer->crc, text_bytes) : std::string();
}

std::string mark_of_gzip_text(const std::string& path) {
  const std::optional<GzipTrailer> trailer = trailer_of(path);
  return trailer ? ContentMark::text_of(trailer->crc, trailer->text_bytes) : std::string();
}

std::uint64_t bytes_of_mark(const std::string& mark) {
  const std::size_t dash = mark.find('-');
  std::uint64_t bytes = 0;
  if (dash == std::string::npos) return 0;
  const char* const end = mark.data() + mark.size();
  const auto [at, error] = std::from_chars(mark.data() + dash + 1, end, bytes);
  return error == std::errc() && at == end ? bytes : 0;
}

}  // namespace traceagent::tools
