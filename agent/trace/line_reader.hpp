#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "agent/trace/ahead_file.hpp"
#include "agent/trace/input_file.hpp"
#include "agent/trace/judged_lines.hpp"
#include "agent/trace/made_events.hpp"

namespace traceagent::trace {

// Lines of a file, in one buffer that begins small and grows up to the longest line that is
// accepted.
class LineReader {
 public:
  static constexpr std::size_t first_buffer_bytes = std::size_t{128} << 10;
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

  enum class Status {
    line,
    end,       // after the last line, which ended with a newline
    cut,       // the file ends within a line or within a gzip member; the rest of a line is dropped
    gap,       // gzip: text is missing here, of this line and perhaps of more
    damaged,   // not gzip data, nor is any behind it
    too_long,  // a line of more than max_line_bytes; what follows is the rest of it
    failed,    // the system refused: see error_number()
  };

  [[nodiscard]] bool open(const std::string& path);
  void close();
  // After open(): from here on what comes next is read by others beforehand, and its lines are
  // judged. `trusts`: LineJudge's.
  void read_beside(SideReads& reads, bool trusts);

  // `line` without its newline, valid until the next call.
  Status next(std::string_view& line) {
    const char* begin = buffer_.get() + begin_;
    const void* newline = begin_ == end_ ? nullptr : std::memchr(begin, '\n', end_ - begin_);
    if (newline == nullptr) [[unlikely]] {
      return next_after_reading(line);
    }
    line = {begin, static_cast<std::size_t>(static_cast<const char*>(newline) - begin)};
    begin_ += line.size() + 1;
    return Status::line;
  }

  // The lines that come next, all of them events, as far as they were judged beforehand; valid
  // until the call after the next, which goes on behind them. None: next() must be asked.
  MadeEvents::Lines take_judged() {
    if (judged_.lines.empty() || begin_ != judged_.begin) [[likely]] {
      return {};
    }
    begin_ = judged_.end;
    judged_.begin = SIZE_MAX;  // not again
    const MadeEvents::Line* const first = judged_.lines.data();
    return {buffer_.get(), first, first + judged_.lines.size()};
  }

  // Where the next line begins in the (uncompressed) text.
  [[nodiscard]] std::uint64_t offset() const { return buffer_offset_ + begin_; }
  [[nodiscard]] int error_number() const { return has_no_memory_ ? ENOMEM : file_.error_number(); }
  [[nodiscard]] std::uint64_t file_bytes_read() const {
    return ahead_ ? ahead_->file_bytes_read() : file_.file_bytes_read();
  }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_.file_bytes(); }
  // So far.
  [[nodiscard]] const GzipDamage& damage() const {
    return ahead_ ? ahead_->damage() : file_.damage();
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return capacity_ + judged_.memory_bytes() + (ahead_ ? ahead_->memory_bytes() : 0) +
           file_.memory_bytes();
  }

 private:
  Status next_after_reading(std::string_view& line);
  bool take_block(std::size_t& size);
  bool make_room();
  bool grow(std::size_t capacity);

  InputFile file_;
  std::unique_ptr<AheadFile> ahead_;  // reads file_; or null
  Memory buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t buffer_offset_ = 0;
  JudgedLines judged_;  // of the buffer
  bool has_no_memory_ = false;
};

}  // namespace traceagent::trace
