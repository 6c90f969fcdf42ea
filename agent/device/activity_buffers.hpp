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
  // Any other pointer is left alone: CUPTI may hand back what was somebody else's.
  void give_back(const std::byte* buffer) noexcept;

  bool owns(const std::byte* buffer) const noexcept {
    return base_ != nullptr && buffer >= base_ && buffer < base_ + count_ * buffer_bytes_;
  }
  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::size_t count() const noexcept { return count_; }
  std::size_t lent() const noexcept;
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  std::byte* base_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::size_t count_ = 0;
  // One bit for each buffer, 1: lent.
  static constexpr std::size_t most_words = 64;
  std::array<std::atomic<std::uint64_t>, most_words> lent_{};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace traceagent::device
