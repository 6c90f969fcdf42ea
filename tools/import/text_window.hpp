#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/trace/input_file.hpp"
#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

// A window that moves over the (uncompressed) text of a file. It grows up to `most_bytes`, for what
// must be seen whole.
class TextWindow {
 public:
  static constexpr std::size_t first_bytes = std::size_t{256} << 10;
  static constexpr std::size_t most_bytes = std::size_t{2} << 20;
  // Readable behind end(), and zero: a search may look a word ahead, and stops there.
  static constexpr std::size_t padding_bytes = 16;

  explicit TextWindow(std::size_t read_bytes = first_bytes, bool has_mark = true)
      : read_bytes_(read_bytes), has_mark_(has_mark) {}

  // The file ends, for this window, behind most_file_bytes. False: see error_number().
  [[nodiscard]] bool open(const std::string& path, std::uint64_t most_file_bytes = UINT64_MAX);

  // Once more, from the beginning.
  [[nodiscard]] bool open_again(const std::string& path) { return open(path, most_file_bytes_); }

  [[nodiscard]] const char* begin() const { return buffer_.get() + begin_; }
  [[nodiscard]] const char* end() const { return buffer_.get() + end_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  // Where begin() is in the text.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  void drop(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  void drop_until(const char* at) { drop(static_cast<std::size_t>(at - begin())); }

  // More text behind end(); moves all that is in the window. False: there is none, see status(), or
  // the window is full, then status() is `data`. Where that is `gap`, text is missing, and what is
  // behind it comes after cross_gap() alone.
  bool fill();
  // The window is empty then.
  void cross_gap();

  [[nodiscard]] trace::InputFile::Status status() const { return status_; }
  // Of the whole file, where fill() has read it to its end and found no gzip; or empty.
  [[nodiscard]] std::string content_mark() const {
    const bool is_whole = has_mark_ && status_ == trace::InputFile::Status::end && !file_.is_gzip();
    return is_whole ? mark_.text() : std::string();
  }

  // Of all the text, where fill() has read it to its end; or nothing.
  [[nodiscard]] std::optional<std::uint64_t> text_bytes() const {
    const bool is_whole = status_ == trace::InputFile::Status::end && damage().places == 0;
    return is_whole ? std::optional(offset_ + size()) : std::nullopt;
  }
  // So far.
  [[nodiscard]] const trace::GzipDamage& damage() const { return file_.damage(); }
  [[nodiscard]] bool is_gzip() const { return file_.is_gzip(); }
  [[nodiscard]] int error_number() const { return file_.error_number(); }
  [[nodiscard]] std::uint64_t file_bytes_read() const { return file_.file_bytes_read(); }

 private:
  void make_room();

  trace::InputFile file_;
  ContentMark mark_;
  trace::InputFile::Status status_ = trace::InputFile::Status::data;
  std::size_t read_bytes_;
  bool has_mark_;
  std::uint64_t most_file_bytes_ = UINT64_MAX;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace traceagent::tools
