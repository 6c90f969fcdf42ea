#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace traceagent::tools {

// Tells a file from all others of its name: "<crc32 of its bytes>-<how many>", whatever it is
// called and wherever it lies.
class ContentMark {
 public:
  void add(const char* bytes, std::size_t size);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::string text_of(std::uint32_t crc, std::uint64_t bytes);

 private:
  std::uint32_t crc_ = 0;  // zlib's, of no bytes
  std::uint64_t bytes_ = 0;
};

// Of so many bytes of the file, or of all; empty where they cannot be read.
std::string content_mark(const std::string& path, std::uint64_t most_bytes = UINT64_MAX);

// Of the text that a gzip file of one member holds, which is so many bytes, as it says itself;
// empty where it has several members, or what it says is another number.
std::string mark_of_gzip_text(const std::string& path, std::uint64_t text_bytes);

// The same, where it is less than 4 GiB: the file is not read for it. Of what is no such file it is
// a mark that nothing has.
std::string mark_of_gzip_text(const std::string& path);

// How many bytes a mark is of; 0: it is none.
std::uint64_t bytes_of_mark(const std::string& mark);

}  // namespace traceagent::tools
