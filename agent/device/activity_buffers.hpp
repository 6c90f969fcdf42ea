#pragma once
// The memory lent to CUPTI, all of it made at once: a request may come from inside a launch of the
// job, where nothing may be allocated and no lock be taken.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace traceagent::device {

class ActivityBuffers {
 public:
  ActivityBuffers() = default;
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;
  ~ActivityBuffers();

  // Pieces of 64 KiB to 1 MiB, 128 of them where that fits. False: no memory.
  bool reserve(std::size_t total_bytes) noexcept;

  // nullptr when all are lent, which is counted. From any thread.
  std::byte* take() noexcept;
  // One more than there are, mapped for the purpose: for a CUPTI that must not be refused. At most
  // most_extra at a time, then nullptr.
  std::byte* take_extra() noexcept;
  // Any other pointer is left alone: CUPTI may hand back what was somebody else's.
  void give_back(const std::byte* buffer) noexcept;

  bool owns(const std::byte* buffer) const noexcept {
    return is_pooled(buffer) || (buffer != nullptr && place_of_extra(buffer) < most_extra);
  }
  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::size_t count() const noexcept { return count_; }
  std::size_t lent() const noexcept;  // of the pool
  std::size_t extra_lent() const noexcept { return extra_lent_.load(std::memory_order_relaxed); }
  // As much again is lent as there was to be: whoever fills them is faster than we read.
  bool is_overrun() const noexcept { return extra_lent() >= count_; }
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

  static constexpr std::size_t most_extra = 1024;

 private:
  bool is_pooled(const std::byte* buffer) const noexcept {
    return base_ != nullptr && buffer >= base_ && buffer < base_ + count_ * buffer_bytes_;
  }
  // most_extra: it is none.
  std::size_t place_of_extra(const std::byte* buffer) const noexcept;

  std::byte* base_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::size_t count_ = 0;
  // One bit for each buffer, 1: lent.
  static constexpr std::size_t most_words = 64;
  std::array<std::atomic<std::uint64_t>, most_words> lent_{};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> extra_lent_{0};
  std::array<std::atomic<std::byte*>, most_extra> extra_{};
};

}  // namespace traceagent::device
