#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace traceagent::trace {

// What of a gzip file no compressor wrote: from where a member began on to the next that can be
// read. What such a member gave before that was seen may be wrong.
struct GzipDamage {
  std::uint64_t places = 0;
  std::uint64_t begin = 0;  // of the first, in the compressed file
  std::uint64_t end = 0;
  bool has_text = false;     // some came of the last one
  bool is_given_up = false;  // behind the last one nothing was looked for any more
};

// "damaged gzip data: <path>: at byte 10 to 90 of the compressed file: ", or of more places.
std::string damage_in_words(const GzipDamage& damage, const std::string& path);

// The bytes of a plain file, or those that a gzip file (of any number of members) holds; told apart
// by content, not by name. Zeros behind the last member are no data, as for gzip(1) and Python:
// what writes whole blocks leaves them.
class InputFile {
 public:
  enum class Status {
    data,     // at least one byte was read
    gap,      // gzip: text is missing here, what is read next begins with a member
    end,      // whole
    cut,      // gzip: the file ends within a member
    damaged,  // gzip: not what a compressor wrote, and no member is behind it
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
  // So far.
  [[nodiscard]] const GzipDamage& damage() const { return damage_; }
  // What is held beside the caller's buffer.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Inflater;

  bool start_gzip();
  Status read_system(char* to, std::size_t capacity, std::size_t& size);
  Status read_gzip(char* to, std::size_t capacity, std::size_t& size);
  Status inflate_some();
  Status read_compressed();
  Status pass_padding();
  Status pass_damage(Status status);

  int descriptor_ = -1;
  int error_number_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t file_bytes_read_ = 0;
  GzipDamage damage_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace traceagent::trace
