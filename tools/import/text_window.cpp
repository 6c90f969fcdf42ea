#include "tools/import/text_window.hpp"

#include <algorithm>
#include <cstring>

namespace traceagent::tools {

bool TextWindow::open(const std::string& path, std::uint64_t most_file_bytes) {
  most_file_bytes_ = most_file_bytes;
  status_ = trace::InputFile::Status::data;
  capacity_ = read_bytes_ * 2;
  begin_ = end_ = 0;
  offset_ = 0;
  mark_ = {};
  buffer_ = std::make_unique<char[]>(capacity_ + padding_bytes);
  return file_.open(path);
}

void TextWindow::make_room() {
  if (capacity_ - end_ >= read_bytes_) {
    return;
  }
  if (size() > capacity_ / 2 && capacity_ < most_bytes) {
    const std::size_t grown = std::min(capacity_ * 2, most_bytes);
    auto larger = std::make_unique_for_overwrite<char[]>(grown + padding_bytes);
    std::memcpy(larger.get(), begin(), size());
    buffer_ = std::move(larger);
    capacity_ = grown;
  } else {
    std::memmove(buffer_.get(), begin(), size());
  }
  end_ -= begin_;
  begin_ = 0;
  std::memset(buffer_.get() + end_, 0, padding_bytes);  // also where nothing follows
}

bool TextWindow::fill() {
  if (status_ != trace::InputFile::Status::data) {
    return false;
  }
  make_room();
  std::size_t room = std::min(capacity_ - end_, read_bytes_);
  if (room == 0) {
    return false;
  }
  if (!file_.is_gzip()) {
    room = std::min<std::uint64_t>(room, most_file_bytes_ - file_.file_bytes_read());
    if (room == 0) {
      status_ = trace::InputFile::Status::end;
      return false;
    }
  }
  std::size_t got = 0;
  status_ = file_.read(buffer_.get() + end_, room, got);
  // While it is in the cache; of gzip the compressed bytes are meant, which are not seen here.
  if (has_mark_ && !file_.is_gzip()) mark_.add(buffer_.get() + end_, got);
  end_ += got;
  std::memset(buffer_.get() + end_, 0, padding_bytes);
  return got > 0;
}

void TextWindow::cross_gap() {
  drop(size());
  status_ = trace::InputFile::Status::data;
}

}  // namespace traceagent::tools
