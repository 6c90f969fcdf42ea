#pragma once

#include <cupti.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "tests/sim/cupti/entry.hpp"

namespace simgpu::cupti {

/// The client's activity buffers. As in the real library a lock is held while the client is asked
/// for a buffer, and a flush takes it too: a client that holds a lock of its own across a flush and
/// takes it in its callback locks up.
class Buffers {
 public:
  static Buffers& get();

  void set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                     CUpti_BuffersCallbackCompleteFunc complete);
  bool has_callbacks();
  /// Called, without a lock, when a buffer is full.
  void on_full(std::function<void()> wake) { wake_ = std::move(wake); }

  /// Writes a record; asks the client for a buffer where there is none with room, here and now.
  void append(const Entry& entry);
  /// So that append() of so many bytes will not have to ask.
  void reserve(std::size_t bytes);
  /// Hands over, on this thread, what is full. True if there was anything.
  bool deliver_full();
  /// Hands over everything, on this thread; returns when other threads' deliveries are over too.
  void deliver_all();
  /// Throws away what has not been handed over of a context's work.
  void forget_context(std::uint32_t context);

  /// Dropped since it was last asked.
  std::uint64_t take_dropped();

  /// Whether this thread is in one of the client's buffer callbacks.
  static bool in_callback();

 private:
  struct Span {
    std::size_t at;
    std::size_t size;
    CuptiState fate;
    std::vector<activity::DeviceWorkPtr> works;
  };
  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    std::size_t most_records = 0;
    std::vector<Span> spans;

    bool fits(std::size_t bytes) const {
      return used + bytes <= size && (most_records == 0 || spans.size() < most_records);
    }
  };

  std::optional<Buffer> request();
  void retire_current();
  void request_for_other_threads();
  bool next_buffer(std::size_t bytes);
  void deliver(Buffer buffer);
  void drop(const Entry& entry);
  bool to_be_dropped();

  std::mutex delivery_;  // taken before mutex_
  std::mutex mutex_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::function<void()> wake_;
  std::optional<Buffer> current_;
  std::deque<Buffer> spare_;
  std::deque<Buffer> full_;
  std::set<std::uint8_t*> ours_;  // asked for and not given back
  double drop_debt_ = -1;         // below 0 before the first buffer
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace simgpu::cupti
