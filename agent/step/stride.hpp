#pragma once
// Calls that step detection knows beforehand: while the job repeats itself, a call that is the next
// one of the pattern need not be told. Telling it takes a tick read, a place in the log and the
// turn to consume it, 40 ns; comparing it with the one that is expected, 3 to 6.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/step/detector.hpp"
#include "agent/step/thread_number.hpp"
#include "agent/step/tracker_log.hpp"

namespace traceagent::step {

class Pattern;

/// The calls of one thread, its owner for life, within one block of the pattern. The owner alone
/// compares and counts, with plain loads and stores; who holds the tracker's turn reads the count.
/// The rest is changed by the owner while it holds the turn. A call that does not pass (the first
/// of a block, any that is not expected) goes the long way, and says how many have passed before.
class alignas(64) Stride {
 public:
  void reserve();

  /// By the owner: whether this is the call that was expected.
  bool pass(std::uint64_t symbol) noexcept {
    const std::uint64_t passed = passed_.load(std::memory_order_relaxed);
    const std::uint64_t place = passed - base_;
    if (place >= length_ || symbols_[place] != symbol) return false;
    passed_.store(passed + 1, std::memory_order_relaxed);
    return true;
  }
  bool goes_by_shape() const noexcept { return goes_by_shape_; }
  /// By the owner, before it tells a call: nothing may pass that comes after one which is not yet
  /// taken.
  void stop() noexcept { length_ = 0; }

  std::uint32_t owner() const noexcept { return owner_.load(std::memory_order_relaxed); }
  bool is_of_launches() const noexcept { return is_of_launches_.load(std::memory_order_relaxed); }
  /// Since the beginning.
  std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_relaxed); }

  // For the holder of the turn.
  void become_owned(std::uint32_t thread) noexcept {
    owner_.store(thread, std::memory_order_relaxed);
  }
  /// By the owner, all of whose calls have been taken.
  void begin(const Detector::Ahead& ahead) noexcept;
  /// How many of the first `passed` have not been taken yet: they are from now on.
  std::uint64_t take(std::uint64_t passed) noexcept {
    const std::uint64_t count = passed > taken_ ? passed - taken_ : 0;
    taken_ += count;
    return count;
  }
  /// Of the newest that was taken, counted backwards from 1.
  std::uint64_t symbol_taken(std::uint64_t back) const noexcept {
    return symbols_[taken_ - back - base_];
  }

 private:
  void copy(const Pattern& pattern) noexcept;

  std::atomic<std::uint64_t> passed_{0};
  std::uint64_t base_ = 0;    ///< what `passed_` would be at the pattern's first
  std::uint64_t length_ = 0;  ///< of the pattern; 0: nothing passes
  /// A copy, because a pattern may be learned anew while the owner compares.
  std::unique_ptr<std::uint64_t[]> symbols_;
  std::atomic<std::uint32_t> owner_{0};
  std::atomic<bool> is_of_launches_{false};
  bool goes_by_shape_ = false;
  std::uint64_t taken_ = 0;
  const Pattern* pattern_ = nullptr;  ///< that was copied
  std::uint64_t version_ = 0;
};

/// The strides of those threads that came first. One is open at a time: that of the thread whose
/// calls are expected. It is closed by the next call that is told, whoever makes it, and opened
/// again by the thread that has just told one.
class Strides {
 public:
  /// Nothing passes before. Takes memory.
  void reserve() {
    for (Stride& stride : strides_) stride.reserve();
  }

  /// That of the thread whose calls are expected; null: nobody's are. Acquire: whose it is is told
  /// before it is opened.
  Stride* opened() const noexcept { return open_.load(std::memory_order_acquire); }
  /// Of this thread, or of another that launches beside the one whose launches are the steps.
  bool pass_launch(std::uint64_t kernel) noexcept {
    Stride* open = opened();
    if (open == nullptr || !open->is_of_launches()) return false;
    return open->owner() != this_thread_number || open->pass(kernel);
  }
  /// Of this thread; null where its collectives are to be told.
  Stride* of_collectives() noexcept {
    Stride* open = opened();
    const bool is_own = open != nullptr && open->owner() == this_thread_number;
    return is_own && !open->is_of_launches() ? open : nullptr;
  }

  /// Before this thread tells a call: how many it has let pass until then, as the entry in the log
  /// says it.
  std::uint64_t stop_this_thread() noexcept;
  std::uint64_t passed() const noexcept;

  // For the holder of the turn.
  /// Before the entry is fed: those that passed before it.
  void catch_up(const LogEntry& entry, Detector& detector) noexcept;
  /// By a thread whose own entries have all been fed.
  void open(const Detector& detector) noexcept;
  void close() noexcept { open_.store(nullptr, std::memory_order_release); }

 private:
  // The forward pass and the backward pass of PyTorch communicate from two threads.
  static constexpr std::size_t most_threads = 2;

  /// 0: one that is free. Null: there is none.
  Stride* find(std::uint32_t thread) noexcept;

  std::atomic<Stride*> open_{nullptr};
  std::array<Stride, most_threads> strides_;
};

}  // namespace traceagent::step
