#pragma once

#include <cstdint>

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
    if (following_ && name == name_ && thread != thread_) ++others_open_;
    if (!follows(name, thread)) return;
    if (depth_ > 0 && !ranges_end_) depth_ = 0;  // never popped so far: the next push ends it
    if (depth_++ > 0) return;
    start_step(ticks);
  }

  void end(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (!following_ || name != name_) return;
    // A started range may be ended by any thread: where none but ours is open it is ours.
    if (thread != thread_ && others_open_ > 0) {
      --others_open_;
      return;
    }
    if (depth_ == 0) return;
    ranges_end_ = true;
    if (--depth_ == 0) end_step(ticks);
  }

  /// A mark has no end: a step lasts until the next.
  void mark(std::uint64_t name, std::uint32_t thread, std::uint64_t ticks) noexcept {
    if (!follows(name, thread) || depth_ > 0) return;
    start_step(ticks);
  }

  bool following() const noexcept { return following_; }
  std::uint64_t name() const noexcept { return name_; }

 private:
  /// A thread that ended (a trainer restarted in a new thread) must not silence the job for good.
  static constexpr int rival_steps_before_change = 3;

  bool follows(std::uint64_t name, std::uint32_t thread) noexcept {
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
    if (++rival_steps_ <= rival_steps_before_change) return false;
    thread_ = thread;
    rival_steps_ = 0;
    others_open_ = depth_;
    depth_ = 0;
    return true;
  }

  void start_step(std::uint64_t ticks) noexcept {
    end_step(ticks);
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
  std::uint32_t others_open_ = 0;  ///< ranges of that name of other threads
  bool following_ = false;
  bool ranges_end_ = false;
  bool open_ = false;
};

}  // namespace traceagent::step
