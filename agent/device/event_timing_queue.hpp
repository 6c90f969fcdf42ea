#pragma once
// A queue from one thread to one other, of a fixed size, without a lock.

#include <array>
#include <atomic>
#include <cstddef>

namespace traceagent::device {

template <class Item, std::size_t capacity>
class EventQueue {
 public:
  // False when it is full.
  bool push(const Item& item) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    // Acquire: the place has been read before it is written again.
    if (head - tail_.load(std::memory_order_acquire) == capacity) return false;
    items_[head % capacity] = item;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  // False when it is empty.
  bool pop(Item& item) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return false;
    item = items_[tail % capacity];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  // On lines of their own: the two threads would take them from each other.
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::array<Item, capacity> items_{};
};

}  // namespace traceagent::device
