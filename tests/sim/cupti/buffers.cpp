#include "tests/sim/cupti/buffers.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/cupti/account.hpp"
#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti {
namespace {

constexpr std::size_t alignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

thread_local bool in_buffer_callback = false;

class CallbackMark {
 public:
  CallbackMark() : before_(std::exchange(in_buffer_callback, true)) {}
  CallbackMark(const CallbackMark&) = delete;
  CallbackMark& operator=(const CallbackMark&) = delete;
  ~CallbackMark() { in_buffer_callback = before_; }

 private:
  bool before_;
};

void mark(const std::vector<activity::DeviceWorkPtr>& works, CuptiState state) {
  for (const auto& work : works) {
    set_state(*work, state);
  }
}

}  // namespace

Buffers& Buffers::get() {
  static auto* instance = new Buffers;
  return *instance;
}

bool Buffers::in_callback() { return in_buffer_callback; }

void Buffers::set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                            CUpti_BuffersCallbackCompleteFunc complete) {
  std::lock_guard lock(mutex_);
  request_ = request;
  complete_ = complete;
}

bool Buffers::has_callbacks() {
  std::lock_guard lock(mutex_);
  return request_ != nullptr;
}

std::optional<Buffers::Buffer> Buffers::request() {
  if (request_ == nullptr) {
    return std::nullopt;
  }
  Buffer buffer;
  {
    const CallbackMark mark;
    request_(&buffer.data, &buffer.size, &buffer.most_records);
  }
  account().buffers_requested.fetch_add(1);
  if (buffer.data == nullptr || buffer.size == 0) {
    account().buffers_refused.fetch_add(1);
    return std::nullopt;
  }
  if (reinterpret_cast<std::uintptr_t>(buffer.data) % alignment != 0) {
    misuse("bufferRequested", "a buffer must be aligned to 8 bytes");
  }
  if (!ours_.insert(buffer.data).second) {
    misuse("bufferRequested", "the buffer was given before and has not come back");
  }
  return buffer;
}

void Buffers::retire_current() {
  if (current_) {
    full_.push_back(std::move(*current_));
    current_.reset();
  }
}

// They keep theirs until it is full or there is a flush.
void Buffers::request_for_other_threads() {
  while (current_ && spare_.size() + 1 < script().cupti.buffers_at_once) {
    auto buffer = request();
    if (!buffer) {
      return;
    }
    spare_.push_back(std::move(*buffer));
  }
}

bool Buffers::next_buffer(std::size_t bytes) {
  if (current_ && current_->fits(bytes)) {
    return true;
  }
  retire_current();
  if (!spare_.empty()) {
    current_ = std::move(spare_.front());
    spare_.pop_front();
  } else {
    current_ = request();
    request_for_other_threads();
  }
  return current_ && current_->fits(bytes);
}

void Buffers::drop(const Entry& entry) {
  dropped_.fetch_add(1);
  account().dropped.fetch_add(1);
  if (!entry.works.empty()) {
    account().dropped_work.fetch_add(1);
  }
  mark(entry.works, CuptiState::dropped);
}

void Buffers::append(const Entry& entry) {
  bool filled = false;
  {
    std::lock_guard lock(mutex_);
    const std::size_t full_before = full_.size();
    if (!next_buffer(entry.size)) {
      drop(entry);
    } else {
      std::memcpy(current_->data + current_->used, entry.bytes, entry.size);
      current_->spans.push_back({current_->used, entry.size, entry.fate, entry.works});
      current_->used += entry.size;
    }
    filled = full_.size() != full_before;
  }
  if (filled && wake_) {
    wake_();
  }
}

void Buffers::reserve(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  std::size_t room = current_ ? current_->size - current_->used : 0;
  for (const Buffer& buffer : spare_) {
    room += buffer.size;
  }
  while (room < bytes) {
    auto buffer = request();
    if (!buffer) {
      return;
    }
    room += buffer->size;
    spare_.push_back(std::move(*buffer));
  }
}

// The first, and then as many as the share says.
bool Buffers::to_be_dropped() {
  const double share = script().cupti.dropped_share;
  if (share <= 0) {
    return false;
  }
  drop_debt_ = drop_debt_ < 0 ? 1 : drop_debt_ + share;
  const bool due = drop_debt_ >= 1 - 1e-9;
  drop_debt_ -= due ? 1 : 0;
  return due;
}

// Not under mutex_, so that launches go on; under delivery_.
void Buffers::deliver(Buffer buffer) {
  const bool dropped = !buffer.spans.empty() && to_be_dropped();
  if (dropped) {
    account().buffers_dropped.fetch_add(1);
    for (Span& span : buffer.spans) {
      Entry entry;
      entry.works = std::move(span.works);
      drop(entry);
    }
  }
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  {
    std::lock_guard lock(mutex_);
    ours_.erase(buffer.data);
    complete = complete_;
  }
  {
    const CallbackMark mark;
    complete(nullptr, 0, buffer.data, buffer.size, dropped ? 0 : buffer.used);
  }
  account().buffers_completed.fetch_add(1);
  if (dropped) {
    return;
  }
  account().delivered.fetch_add(buffer.spans.size());
  for (const Span& span : buffer.spans) {
    account().incomplete.fetch_add(span.fate == CuptiState::incomplete ? 1 : 0);
    mark(span.works, span.fate);
  }
}

bool Buffers::deliver_full() {
  std::lock_guard delivery(delivery_);
  bool any = false;
  for (;; any = true) {
    std::unique_lock lock(mutex_);
    if (full_.empty()) {
      return any;
    }
    Buffer buffer = std::move(full_.front());
    full_.pop_front();
    lock.unlock();
    deliver(std::move(buffer));
  }
}

void Buffers::deliver_all() {
  {
    std::lock_guard lock(mutex_);
    retire_current();
    for (; !spare_.empty(); spare_.pop_front()) {
      full_.push_back(std::move(spare_.front()));
    }
  }
  deliver_full();
}

void Buffers::forget_context(std::uint32_t context) {
  std::lock_guard lock(mutex_);
  const auto gone = [context](const Span& span) {
    return !span.works.empty() && span.works.front()->context == context;
  };
  const auto strip = [&](Buffer& buffer) {
    std::vector<Span> kept;
    std::size_t used = 0;
    for (Span& span : buffer.spans) {
      if (gone(span)) {
        account().lost.fetch_add(1);
        mark(span.works, CuptiState::lost);
        continue;
      }
      std::memmove(buffer.data + used, buffer.data + span.at, span.size);
      span.at = used;
      used += span.size;
      kept.push_back(std::move(span));
    }
    buffer.spans = std::move(kept);
    buffer.used = used;
  };
  std::for_each(full_.begin(), full_.end(), strip);
  if (current_) {
    strip(*current_);
  }
}

// Takes the lock that is held while a buffer is asked for, as the real one does; a client in its
// callback may ask all the same.
std::uint64_t Buffers::take_dropped() {
  if (in_buffer_callback) {
    return dropped_.exchange(0);
  }
  std::lock_guard lock(mutex_);
  return dropped_.exchange(0);
}

}  // namespace simgpu::cupti
