#pragma once
// Calls that step detection knows beforehand: while the job repeats itself, a call that is the next
// one of the pattern need not be told. Telling it takes a tick read, a place in the log and the
// turn to consume it, 40 ns; comparing it with the one that is expected, 2 to 3.

#include <sys/types.h>

#include <algorithm>
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

/// The calls of one thread, its owner for life, along the pattern. The owner alone compares and
/// counts, with plain loads and stores; who holds the tracker's turn reads the count. The rest is
/// changed by the owner while it holds the turn. A call that does not pass (any that is not
/// expected, and the first of a step that the schedule looks at) goes the long way, and says how
/// many have passed before.
class alignas(64) Stride {
 public:
  /// The stretches: of so few calls that they stay in the cache, at least of one block.
  void reserve(std::uint64_t calls_in_stretch = 512);

  /// By the owner: whether this is the call that was expected. In line with all that it needs: a
  /// call within would have every caller save its arguments.
  [[gnu::always_inline]] bool pass(std::uint64_t symbol) noexcept {
    if (next_.load(std::memory_order_relaxed) >= end_) [[unlikely]] {
      return pass_first_of_stretch(symbol);
    }
    return pass_within_stretch(symbol);
  }
  /// The same, but for the first call of a stretch: that takes more registers than are free where
  /// the call's own arguments are.
  [[gnu::always_inline]] bool pass_within_stretch(std::uint64_t symbol) noexcept {
    const std::uint64_t* const next = next_.load(std::memory_order_relaxed);
    if (next >= end_ || *next != symbol) [[unlikely]] {
      return false;
    }
    next_.store(next + 1, std::memory_order_relaxed);
    return true;
  }
  bool goes_by_shape() const noexcept { return goes_by_shape_; }
  /// By the owner, before it tells a call: nothing may pass that comes after one which is not yet
  /// taken.
  void stop() noexcept {
    end_ = nullptr;
    blocks_left_ = 0;
  }

  std::uint32_t owner() const noexcept { return owner_.load(std::memory_order_relaxed); }
  /// For the holder of the turn.
  bool is_of_launches() const noexcept { return is_of_launches_; }
  /// Since the beginning. For another thread than the owner, the call that passes in this moment
  /// may be missing.
  std::uint64_t passed() const noexcept {
    // Between two stretches the two parts do not fit, for some instructions of the owner's, who may
    // lose its core there: what had passed by then stands beside them. Bounded: where the owner is
    // faster than we look that is no more than a stretch behind.
    constexpr int most_looks = 1000;
    for (int looks = 0; looks < most_looks; ++looks) {
      const std::uint32_t edge = edges_.load(std::memory_order_acquire);
      if (edge % 2 != 0) break;
      const std::uint64_t before = before_.load(std::memory_order_acquire);
      const std::uint64_t* const next = next_.load(std::memory_order_acquire);
      if (edges_.load(std::memory_order_relaxed) == edge) {
        return before + static_cast<std::uint64_t>(next - symbols_.get());
      }
    }
    return passed_at_edge_.load(std::memory_order_relaxed);
  }

  // For the holder of the turn.
  /// By the thread itself.
  void become_owned(std::uint32_t thread) noexcept;
  /// Whether its thread has ended; looks_left(): since the last look.
  bool is_left() const noexcept { return is_left_; }
  bool looks_left() noexcept;
  /// By the owner, all of whose calls have been taken.
  void begin(const Detector::Ahead& ahead) noexcept;
  /// How many of the first `passed` have not been taken yet: they are from now on.
  std::uint64_t take(std::uint64_t passed) noexcept {
    // What another thread sees may be less than it saw before.
    const auto count = static_cast<std::int64_t>(passed - taken_);
    if (count <= 0) return 0;
    taken_ = passed;
    return static_cast<std::uint64_t>(count);
  }
  /// Of the newest that was taken, counted backwards from 1.
  std::uint64_t symbol_taken(std::uint64_t back) const noexcept {
    return symbols_[(taken_ - back - start_) % length_];
  }

 private:
  void copy(const Pattern& pattern) noexcept;

  bool pass_first_of_stretch(std::uint64_t symbol) noexcept {
    if (blocks_left_ == 0 || symbols_[0] != symbol) return false;
    const std::uint64_t before =
        before_.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(end_ - symbols_.get());
    begin_stretch(0);
    set_passed(before, 1, before);
    return true;
  }
  /// Of as many of the blocks left as there is room for, beside those that have begun.
  void begin_stretch(std::uint64_t begun) noexcept {
    const std::uint64_t blocks = std::min(blocks_left_, blocks_in_stretch_ - begun);
    blocks_left_ -= blocks;
    end_ = symbols_.get() + (begun + blocks) * length_;
  }

  /// `before` where the stretch began, and so many of its calls; `now`: what has passed. Release:
  /// who sees that the edge was begun sees what had passed, who sees one of the parts sees that it
  /// was begun, who sees its end sees both. Pairs with passed().
  [[gnu::always_inline]] void set_passed(std::uint64_t before, std::uint64_t of_stretch,
                                         std::uint64_t now) noexcept {
    const std::uint32_t edge = edges_.load(std::memory_order_relaxed);
    passed_at_edge_.store(now, std::memory_order_relaxed);
    edges_.store(edge + 1, std::memory_order_release);
    before_.store(before, std::memory_order_release);
    next_.store(symbols_.get() + of_stretch, std::memory_order_release);
    edges_.store(edge + 2, std::memory_order_release);
  }

  std::atomic<const std::uint64_t*> next_{nullptr};  ///< of the symbols, that is expected
  const std::uint64_t* end_ = nullptr;               ///< of the symbols; null: nothing passes
  std::atomic<std::uint32_t> owner_{0};
  pid_t owner_tid_ = 0;
  bool is_left_ = false;
  bool goes_by_shape_ = false, is_of_launches_ = false;
  std::uint64_t blocks_left_ = 0;         ///< that may begin without being told
  std::atomic<std::uint64_t> before_{0};  ///< how many had passed where the stretch began
  std::atomic<std::uint32_t> edges_{0};   ///< between two stretches: odd
  std::atomic<std::uint64_t> passed_at_edge_{0};
  std::uint64_t length_ = 0;  ///< of the pattern
  /// Copies, because a pattern may be learned anew while the owner compares: one after the other
  /// for the blocks of a stretch, because the first call of one takes longer than the others.
  std::unique_ptr<std::uint64_t[]> symbols_;
  std::uint64_t start_ = 0;  ///< what passed() would have been at the first block's beginning
  std::uint64_t taken_ = 0;
  std::uint64_t calls_in_stretch_ = 1, blocks_in_stretch_ = 1;
  const Pattern* pattern_ = nullptr;  ///< that was copied
  std::uint64_t version_ = 0;
};

/// That which this thread has opened last; null: none.
[[gnu::visibility("hidden")]] extern constinit thread_local Stride* this_threads_stride
    __attribute__((tls_model("initial-exec")));

/// The stride that is open, if any is, as the doors look at it: with few registers and
/// instructions, because the arguments of a call that goes on by a jump stay in theirs. Acquire,
/// here and below: what a stride expects is written before it is opened.
class OpenStride {
 public:
  /// A launch of this thread's, but for the first of a stretch; or of another thread's, beside the
  /// one whose launches are the steps.
  [[gnu::always_inline]] bool pass_launch_within_stretch(std::uint64_t kernel) const noexcept {
    Stride* stride = launches_.load(std::memory_order_acquire);
    if (stride == nullptr) [[unlikely]] {
      return false;
    }
    return stride != this_threads_stride || stride->pass_within_stretch(kernel);
  }
  [[gnu::always_inline]] bool pass_launch(std::uint64_t kernel) const noexcept {
    Stride* stride = launches_.load(std::memory_order_acquire);
    if (stride == nullptr) return false;
    return stride != this_threads_stride || stride->pass(kernel);
  }
  /// Of this thread; null where its collectives are to be told.
  [[gnu::always_inline]] Stride* of_collectives() const noexcept {
    Stride* stride = collectives_.load(std::memory_order_acquire);
    return stride == this_threads_stride ? stride : nullptr;
  }

  // For the holder of the turn.
  Stride* get() const noexcept {
    Stride* of_launches = launches_.load(std::memory_order_relaxed);
    return of_launches != nullptr ? of_launches : collectives_.load(std::memory_order_relaxed);
  }
  void open(Stride& stride) noexcept {
    (stride.is_of_launches() ? launches_ : collectives_).store(&stride, std::memory_order_release);
  }
  void close() noexcept {
    launches_.store(nullptr, std::memory_order_release);
    collectives_.store(nullptr, std::memory_order_release);
  }

 private:
  std::atomic<Stride*> launches_{nullptr}, collectives_{nullptr};
};

/// The strides of those threads that came first. One is open at a time: that of the thread whose
/// calls are expected. It is closed by the next call that is told, whoever makes it, and opened
/// again by the thread that has just told one.
class Strides {
 public:
  /// Nothing passes before. Takes memory.
  void reserve() {
    this_threads_stride = nullptr;  // an earlier one may have been at the same place
    for (Stride& stride : strides_) stride.reserve();
  }

  const OpenStride& opened() const noexcept { return open_; }

  /// Before this thread tells a call: how many it has let pass until then, as the entry in the log
  /// says it.
  std::uint64_t stop_this_thread() noexcept;
  std::uint64_t passed() const noexcept;

  // For the holder of the turn.
  /// Before the entry is fed: those that passed before it.
  void catch_up(const LogEntry& entry, Detector& detector) noexcept;
  /// Those that have passed so far, where nothing is told in a long time; and whether the thread
  /// whose launches are the steps still launches.
  void take_passed(Detector& detector) noexcept;
  /// By a thread whose own entries have all been fed.
  void open(const Detector& detector) noexcept;
  void close() noexcept { open_.close(); }

 private:
  // The forward pass and the backward pass of PyTorch communicate from two threads.
  static constexpr std::size_t most_threads = 2;

  /// 0: one that is free. Null: there is none.
  Stride* find(std::uint32_t thread) noexcept;
  /// One that its thread has left. Null: there is none.
  Stride* find_left() noexcept;

  OpenStride open_;
  std::array<Stride, most_threads> strides_;
};

}  // namespace traceagent::step
