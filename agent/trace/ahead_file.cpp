#include "agent/trace/ahead_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace traceagent::trace {

bool AheadFile::start() {
  file_bytes_read_ = file_.file_bytes_read();
  damage_ = file_.damage();
  block_.reset(static_cast<char*>(event::held_malloc(buffer_bytes)));
  if (!block_) {
    return false;
  }
  capacity_ = buffer_bytes;
  begin();
  return true;
}

void AheadFile::run() noexcept {
  status_ = file_.read(block_.get() + lead_bytes, block_bytes, size_);
  judged_.clear();
  if (status_ == InputFile::Status::data) {
    judged_.judge(block_.get(), lead_bytes, lead_bytes + size_, judge_);
  }
}

void AheadFile::begin() {
  used_ = size_ = 0;
  reads_.begin(*this);
  is_begun_ = true;
}

void AheadFile::finish() {
  if (is_begun_) {
    reads_.finish(*this);
    is_begun_ = false;
    file_bytes_read_ = file_.file_bytes_read();
    damage_ = file_.damage();
  }
}

InputFile::Status AheadFile::read(char* to, std::size_t capacity, std::size_t& size) {
  finish();
  size = std::min(capacity, size_ - used_);
  if (status_ == InputFile::Status::gap) {
    begin();
    return InputFile::Status::gap;
  }
  if (status_ != InputFile::Status::data) {
    return status_;
  }
  std::memcpy(to, block_.get() + lead_bytes + used_, size);
  used_ += size;
  if (used_ == size_) {
    begin();
  }
  return InputFile::Status::data;
}

bool AheadFile::swap(Memory& buffer, std::size_t& capacity, std::size_t& size,
                     JudgedLines& judged) {
  finish();
  if (status_ != InputFile::Status::data || used_ > 0 || capacity < buffer_bytes) {
    return false;
  }
  std::swap(buffer, block_);
  std::swap(capacity, capacity_);
  std::swap(judged, judged_);
  size = size_;
  begin();
  return true;
}

}  // namespace traceagent::trace
