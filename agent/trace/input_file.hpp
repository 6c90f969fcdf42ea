#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace traceagent::trace {

// The bytes of a plain file, or those that a gzip file (of any number of members) holds; told apart
// by content, not by name.
class InputFile {
 public:
  enum class Status {
    data,     // at least one byte was read
    end,      // whole
    cut,      // gzip: the file ends within a member
    damaged,  // gzip: not what a compressor wrote
    failed,   // the system refused: see error_number()
  };

  InputFile();
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // False: see error_number().
  [[nodiscard]] bool open(const std::string& path);
  void close();

  // Up to `capacity` (> 0) bytes into `to`; `size` becomes how many.
  Status read(char* to, std::size_t capacity, std::size_t& size);

  [[nodiscard]] int error_number() const { return error_number_; }
  [[nodiscard]] std::uint64_t file_bytes_read() const { return file_bytes_read_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] bool is_gzip() const { return inflater_ != nullptr; }
  // What is held beside the caller's buffer.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Inflater;

  bool start_gzip();
  Status read_system(char* to, std::size_t capacity, std::size_t& size);
  Status read_gzip(char* to, std::size_t capacity, std::size_t& size);
  Status inflate_some(Status& input);

  int descriptor_ = -1;
  int error_number_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t file_bytes_read_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace traceagent::trace
