#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/step/detector_token.hpp"

namespace traceagent::step {

struct LogEntry {
  enum class Kind : std::uint8_t { sequence, range_begin, range_end, mark, call };

  Token token;  ///< for ranges and marks, `exact` tells apart the names
  Kind kind = Kind::sequence;
  std::uint64_t passed = 0;  ///< how many calls of its thread the thread's Stride had let pass
};

/// A bounded queue: many threads append, one at a time takes. Appending to a full log drops the
/// entry and counts it, because a thread of the job never waits for another.
///
/// Each slot carries a turn: 2·lap while it is free for that lap, 2·lap + 1 once it is filled.
/// The producer's release of the odd turn pairs with the consumer's acquire (the entry is whole
/// when seen); the consumer's release of the next even turn pairs with the next producer's acquire
/// (the entry has been copied out before it is overwritten).
class TrackerLog {
 public:
  static constexpr std::uint64_t capacity = 4096;

  TrackerLog() : slots_(std::make_unique<Slot[]>(capacity)) {}

  /// The entry's number, from 1; 0: dropped.
  std::uint64_t append(const LogEntry& entry) noexcept {
    // Claiming by compare-and-swap rather than fetch_add: a claim that finds the log full can be
    // given up, where a fetched number would leave a hole that the consumer waits for.
    std::uint64_t position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position % capacity];
      const std::uint64_t free_turn = 2 * (position / capacity);
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == free_turn) {
        if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
          slot.entry = entry;
          slot.turn.store(free_turn + 1, std::memory_order_release);
          return position + 1;
        }
      } else if (turn < free_turn) {  // the entry of the lap before is still there
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return 0;
      } else {
        position = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  /// Only for the thread whose turn it is.
  bool take(LogEntry& entry) noexcept {
    const std::uint64_t position = head_.load(std::memory_order_relaxed);
    Slot& slot = slots_[position % capacity];
    const std::uint64_t filled_turn = 2 * (position / capacity) + 1;
    if (slot.turn.load(std::memory_order_acquire) != filled_turn) return false;
    entry = slot.entry;
    slot.turn.store(filled_turn + 1, std::memory_order_release);
    head_.store(position + 1, std::memory_order_relaxed);
    return true;
  }

  /// The number of the last entry that was taken; exact for the thread whose turn it is.
  std::uint64_t taken() const noexcept { return head_.load(std::memory_order_relaxed); }

  /// Whether the next entry is published; a hint for a thread whose turn it is not.
  bool has_published() const noexcept {
    const std::uint64_t position = head_.load(std::memory_order_relaxed);
    return slots_[position % capacity].turn.load(std::memory_order_acquire) ==
           2 * (position / capacity) + 1;
  }

  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn{0};
    LogEntry entry;
  };

  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace traceagent::step
