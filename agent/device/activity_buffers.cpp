#include "agent/device/activity_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace traceagent::device {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t largest_buffer_bytes = 1024 * 1024;
constexpr std::size_t smallest_buffer_bytes = 64 * 1024;
// CUPTI takes one for each of the job's threads that calls CUDA, and one for each context.
// Small, so that a buffer is full and comes back soon: a flush passes over one in which any work
// still runs, and while the job launches on there is always some.
constexpr std::size_t wanted_count = 128;
constexpr std::size_t word_bits = 64;

}  // namespace

bool ActivityBuffers::reserve(std::size_t total_bytes) noexcept {
  if (base_ != nullptr) return true;
  buffer_bytes_ =
      std::clamp(total_bytes / wanted_count, smallest_buffer_bytes, largest_buffer_bytes) /
      page_bytes * page_bytes;
  count_ = std::clamp<std::size_t>(total_bytes / buffer_bytes_, 1, most_words * word_bits);
  // Untouched until it is used: a job without device work pays address space alone.
  void* memory = mmap(nullptr, count_ * buffer_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(memory);
  return true;
}

ActivityBuffers::~ActivityBuffers() {
  for (auto& place : extra_) {
    if (std::byte* buffer = place.load(std::memory_order_relaxed)) munmap(buffer, buffer_bytes_);
  }
  if (base_ != nullptr) munmap(base_, count_ * buffer_bytes_);
}

std::byte* ActivityBuffers::take() noexcept {
  if (base_ == nullptr) return nullptr;
  for (std::size_t i = 0; i * word_bits < count_; ++i) {
    const std::size_t bits = std::min(count_ - i * word_bits, word_bits);
    const std::uint64_t all =
        bits == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    std::uint64_t seen = lent_[i].load(std::memory_order_relaxed);
    while ((seen & all) != all) {
      const std::uint64_t lowest_free = ~seen & (seen + 1);
      // Acquire pairs with give_back(): its last reader is done.
      if (lent_[i].compare_exchange_weak(seen, seen | lowest_free, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(lowest_free));
        return base_ + (i * word_bits + bit) * buffer_bytes_;
      }
    }
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::byte* ActivityBuffers::take_extra() noexcept {
  // Counted first: so many places at least are free.
  if (base_ == nullptr || extra_lent_.fetch_add(1, std::memory_order_relaxed) >= most_extra) {
    if (base_ != nullptr) extra_lent_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  void* memory = mmap(nullptr, buffer_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    auto* buffer = static_cast<std::byte*>(memory);
    for (auto& place : extra_) {
      std::byte* nothing = nullptr;
      if (place.compare_exchange_strong(nothing, buffer, std::memory_order_acq_rel)) return buffer;
    }
    munmap(memory, buffer_bytes_);
  }
  extra_lent_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

std::size_t ActivityBuffers::place_of_extra(const std::byte* buffer) const noexcept {
  if (extra_lent() == 0) return most_extra;
  std::size_t place = 0;
  while (place < most_extra && extra_[place].load(std::memory_order_acquire) != buffer) ++place;
  return place;
}

void ActivityBuffers::give_back(const std::byte* buffer) noexcept {
  if (!is_pooled(buffer)) {
    const std::size_t place = buffer != nullptr ? place_of_extra(buffer) : most_extra;
    if (place == most_extra) return;
    std::byte* extra = extra_[place].exchange(nullptr, std::memory_order_acq_rel);
    munmap(extra, buffer_bytes_);
    extra_lent_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  const std::size_t index = static_cast<std::size_t>(buffer - base_) / buffer_bytes_;
  const std::uint64_t bit = std::uint64_t{1} << (index % word_bits);
  lent_[index / word_bits].fetch_and(~bit, std::memory_order_release);
}

std::size_t ActivityBuffers::lent() const noexcept {
  std::size_t sum = 0;
  for (const auto& word : lent_) {
    sum += static_cast<std::size_t>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return sum;
}

}  // namespace traceagent::device
