#include "agent/trace/line_reader.hpp"

#include <algorithm>

namespace traceagent::trace {

bool LineReader::open(const std::string& path) {
  begin_ = end_ = 0;
  buffer_offset_ = 0;
  return file_.open(path);
}

void LineReader::close() {
  file_.close();
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

// The unread rest moves to the front; a rest that fills the buffer makes it grow.
bool LineReader::make_room() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    buffer_offset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ < capacity_) {
    return true;
  }
  const std::size_t capacity = std::max(first_buffer_bytes, capacity_ * 2);
  if (capacity > max_line_bytes) {
    return false;
  }
  void* grown = std::realloc(buffer_.get(), capacity);
  if (grown == nullptr) {
    has_no_memory_ = true;
    return false;
  }
  static_cast<void>(buffer_.release());
  buffer_.reset(static_cast<char*>(grown));
  capacity_ = capacity;
  return true;
}

LineReader::Status LineReader::next_after_reading(std::string_view& line) {
  while (true) {
    if (!make_room()) {
      return has_no_memory_ ? Status::failed : Status::too_long;
    }
    const std::size_t searched = end_;
    std::size_t size = 0;
    switch (file_.read(buffer_.get() + end_, capacity_ - end_, size)) {
      case InputFile::Status::data:
        break;
      case InputFile::Status::end:
        return end_ == 0 ? Status::end : Status::cut;
      case InputFile::Status::cut:
        return Status::cut;
      case InputFile::Status::damaged:
        return Status::damaged;
      case InputFile::Status::failed:
        return Status::failed;
    }
    end_ += size;
    if (std::memchr(buffer_.get() + searched, '\n', size) != nullptr) {
      return next(line);
    }
  }
}

}  // namespace traceagent::trace
