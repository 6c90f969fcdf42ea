#include "agent/trace/line_reader.hpp"

#include <algorithm>
#include <new>

#include "agent/event/held_memory.hpp"

namespace traceagent::trace {

bool LineReader::open(const std::string& path) {
  ahead_.reset();
  judged_.clear();
  begin_ = end_ = 0;
  buffer_offset_ = 0;
  has_no_memory_ = false;
  return file_.open(path);
}

void LineReader::close() {
  ahead_.reset();
  file_.close();
  buffer_.reset();
  judged_ = {};
  capacity_ = begin_ = end_ = 0;
}

// Without memory it is read as before.
void LineReader::read_beside(SideReads& reads, bool trusts) {
  if (capacity_ < AheadFile::buffer_bytes && !grow(AheadFile::buffer_bytes)) {
    has_no_memory_ = false;
    return;
  }
  ahead_.reset(new (std::nothrow) AheadFile(file_, reads, trusts));
  if (ahead_ && !ahead_->start()) {
    ahead_.reset();
  }
}

// A block that was read beforehand becomes the buffer, with the unread rest in front. False: it is
// to be read as ever.
bool LineReader::take_block(std::size_t& size) {
  const std::size_t rest = end_ - begin_;
  const char* const from = buffer_.get() + begin_;
  const std::uint64_t place = offset();
  if (!ahead_ || rest > AheadFile::lead_bytes) {
    return false;
  }
  char kept[AheadFile::lead_bytes];
  std::memcpy(kept, from, rest);
  if (!ahead_->swap(buffer_, capacity_, size, judged_)) {
    return false;
  }
  begin_ = AheadFile::lead_bytes - rest;
  end_ = AheadFile::lead_bytes + size;
  std::memcpy(buffer_.get() + begin_, kept, rest);
  buffer_offset_ = place - begin_;  // wraps near the beginning, and back in offset()
  return true;
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
  return capacity_ < max_line_bytes &&
         grow(std::min(std::max(first_buffer_bytes, capacity_ * 2), max_line_bytes));
}

bool LineReader::grow(std::size_t capacity) {
  void* grown = event::held_realloc(buffer_.get(), capacity);
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
    std::size_t size = 0;
    if (take_block(size)) {
      if (std::memchr(buffer_.get() + end_ - size, '\n', size) != nullptr) {
        return next(line);
      }
      continue;
    }
    judged_.clear();  // what is in the buffer moves
    if (!make_room()) {
      if (has_no_memory_) return Status::failed;
      begin_ = end_;
      return Status::too_long;
    }
    const std::size_t searched = end_;
    char* const to = buffer_.get() + end_;
    switch (ahead_ ? ahead_->read(to, capacity_ - end_, size)
                   : file_.read(to, capacity_ - end_, size)) {
      case InputFile::Status::data:
        break;
      case InputFile::Status::gap:
        begin_ = end_;
        return Status::gap;
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
