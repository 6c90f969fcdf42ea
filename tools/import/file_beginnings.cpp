#include "tools/import/file_beginnings.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace traceagent::tools {

namespace {

constexpr std::uint64_t tail_bytes = 4096;
constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;

// Fewer where they cannot be read.
std::string bytes_at(std::ifstream& file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

// Where the last of its events ends: what closes the array, or separates it from the next one, the
// longer file has elsewhere.
std::uint64_t end_of_events(std::ifstream& file, std::uint64_t bytes) {
  const std::uint64_t tail = std::min(bytes, tail_bytes);
  const std::size_t last = bytes_at(file, bytes - tail, tail).find_last_not_of(" \t\r\n,]");
  return last == std::string::npos ? 0 : bytes - tail + last + 1;
}

bool are_same_at(std::ifstream& a, std::ifstream& b, std::uint64_t offset, std::uint64_t count) {
  const std::string bytes = bytes_at(a, offset, count);
  return bytes.size() == count && bytes == bytes_at(b, offset, count);
}

// The ends first: files that differ mostly do so there.
bool is_beginning_of(const ForeignFile& shorter, const ForeignFile& longer) {
  std::ifstream a(shorter.path(), std::ios::binary);
  std::ifstream b(longer.path(), std::ios::binary);
  const std::uint64_t bytes = end_of_events(a, shorter.plain_bytes());
  const std::uint64_t tail = std::min(bytes, tail_bytes);
  if (bytes == 0 || !are_same_at(a, b, bytes - tail, tail)) return false;
  for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
    if (!are_same_at(a, b, at, std::min(block_bytes, bytes - at))) return false;
  }
  return true;
}

}  // namespace

void leave_out_beginnings(ForeignFiles& files) {
  for (const auto& file : files) {
    if (!file->is_taken()) continue;
    const auto longer = std::find_if(files.begin(), files.end(), [&](const auto& other) {
      return other->is_taken() && file->may_begin(*other) && is_beginning_of(*file, *other);
    });
    if (longer != files.end()) file->leave_out_as_beginning_of(**longer);
  }
}

}  // namespace traceagent::tools
