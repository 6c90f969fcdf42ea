#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/step/detector_token.hpp"

namespace traceagent::step {

/// Turns the begins and ends of ranges with a step's name, on any threads, into steps.
///
/// Follows the first name on the first thread that used it: several threads may open ranges of
/// that name (a loader that calls its own loop "step"), and one step must not count twice.
class RangeFollower {
 public:
  explicit RangeFollower(StepListener& listener) : listener_(listener) {}

  void begin(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (following_ && name == name_ && thread != thread_) ++others_open_[place(thread)];
    if (!follows(name, thread, ticks)) return;
    if (depth_ > 0 && !ranges_end_) {  // never popped so far: the next push ends it
      begun_since_left_ = 1;
      depth_ = 0;
    }
    if (depth_ > 0 && is_left_open(ticks)) leave_open();
    if (depth_++ > 0) return;
    start_step(ticks);
  }

  void end(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (!following_ || name != name_) return;
    // A thread ends none of its own where it has begun none: any may end a started range.
    if (thread != thread_ && others_open_[place(thread)] > 0) {
      --others_open_[place(thread)];
      return;
    }
    if (depth_ == 0) {
      // The one that was given up: from now on so many in one are waited for.
      most_inner_ = std::max(most_inner_, std::exchange(begun_since_left_, 0));
      return;
    }
    ranges_end_ = true;
    if (--depth_ > 0) return;
    most_inner_ = std::max(most_inner_, std::exchange(inner_, 0));
    ++ended_;
    if (step_ticks_ == 0 && ticks > latest_begin_) step_ticks_ = ticks - latest_begin_;
    end_step(ticks);
  }

  /// A mark has no end: a step lasts until the next.
  void mark(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (!follows(name, thread, ticks) || depth_ > 0) return;
    start_step(ticks);
  }

  /// Something else makes the steps from now on: the open one ends, none of ours begins any more.
  void stop(std::uint64_t ticks) noexcept { end_step(ticks); }

  bool is_open() const noexcept { return open_; }
  std::uint64_t steps_begun() const noexcept { return step_ + (open_ ? 1 : 0); }

 private:
  /// A thread that ended (a trainer restarted in a new thread) must not silence the job for good;
  /// one that evaluates, or whose step takes long, is not to be left for another's loop.
  static constexpr int rival_steps_before_change = 3;
  static constexpr std::uint64_t steps_of_patience = 64, steps_of_patience_while_open = 1024;
  /// As many as the micro batches of any step, which may be ranges of that name in the step's own:
  /// until so many have ended that it would be known.
  static constexpr std::uint32_t most_inner_at_first = 32;
  static constexpr std::uint64_t ended_to_know = 8;

  static std::size_t place(std::uint32_t thread) noexcept { return thread % places; }

  bool follows(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (!following_) {
      following_ = true;
      name_ = name;
      thread_ = thread;
    }
    if (name != name_) return false;
    if (thread == thread_) {
      rival_steps_ = 0;
      return true;
    }
    if (rival_thread_ != thread) rival_steps_ = 0;
    rival_thread_ = thread;
    if (++rival_steps_ <= rival_steps_before_change || is_awaited(ticks)) return false;
    others_open_[place(thread_)] += depth_;
    others_open_[place(thread)] = 0;
    thread_ = thread;
    rival_steps_ = 0;
    depth_ = 0;
    inner_ = begun_since_left_ = 0;
    latest_begin_ = 0;  // the time between two threads' is no step's
    return true;
  }

  /// Whether the thread is only late with its next range, or with the end of this.
  bool is_awaited(std::uint64_t ticks) const noexcept {
    if (step_ticks_ == 0) return open_;
    const std::uint64_t steps = open_ ? steps_of_patience_while_open : steps_of_patience;
    return ticks < latest_begin_ || (ticks - latest_begin_) / step_ticks_ < steps;
  }

  /// Whether the range that is open was never ended (an exception, a forgotten pop), by one that
  /// begins in it: more do than in any that was ended.
  bool is_left_open(std::uint64_t ticks) noexcept {
    if (inner_++ == 0) first_inner_ticks_ = ticks;
    const std::uint32_t most = 2 * most_inner_ + 2;
    return inner_ > (ended_ >= ended_to_know ? most : std::max(most, most_inner_at_first));
  }

  /// Those within were steps: the step ended where the first began, and the others have passed.
  void leave_open() noexcept {
    end_step(first_inner_ticks_);
    step_ += inner_ - 1;
    listener_.on_steps_untold();
    begun_since_left_ = std::exchange(inner_, 0);
    depth_ = 0;
  }

  void start_step(std::uint64_t ticks) noexcept {
    end_step(ticks);
    if (latest_begin_ != 0 && ticks > latest_begin_) step_ticks_ = ticks - latest_begin_;
    latest_begin_ = ticks;
    if (begun_since_left_ > 0) ++begun_since_left_;
    open_ = true;
    listener_.on_step_begin(step_, ticks);
  }

  void end_step(std::uint64_t ticks) noexcept {
    if (!open_) return;
    open_ = false;
    listener_.on_step_end(step_++, ticks);
  }

  StepListener& listener_;
  std::uint64_t step_ = 0;
  std::uint64_t name_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t rival_thread_ = 0;
  int rival_steps_ = 0;
  std::uint32_t depth_ = 0;
  /// Ranges of that name of other threads; two that share a place count as one.
  static constexpr std::size_t places = 64;
  std::array<std::uint32_t, places> others_open_{};
  std::uint64_t latest_begin_ = 0;  ///< of the followed thread's steps
  std::uint64_t step_ticks_ = 0;    ///< between its last two begins; 0: not known yet
  std::uint32_t inner_ = 0;         ///< begun within the one that is open
  std::uint64_t first_inner_ticks_ = 0;
  std::uint32_t most_inner_ = 0;  ///< in any that was ended
  std::uint32_t begun_since_left_ =
      0;  ///< since one was given up, unless its end came; 0: none was
  std::uint64_t ended_ = 0;
  bool following_ = false;
  bool ranges_end_ = false;
  bool open_ = false;
};

}  // namespace traceagent::step
