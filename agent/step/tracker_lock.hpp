#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "agent/step/detector_token.hpp"

namespace traceagent::step {

/// Stands between the detector and the listener: passes steps on, and remembers what the detector
/// locked on to for whoever asks from another thread. The fields are relaxed: a description asked
/// for in the very moment of a lock may mix two of them.
class LockNotes final : public DetectorListener {
 public:
  explicit LockNotes(StepListener& listener) : listener_(listener) {}

  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    steps_begun_ = step + 1;
    step_is_open_ = true;
    listener_.on_step_begin(step, ticks);
  }
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override {
    step_is_open_ = false;
    listener_.on_step_end(step, ticks);
  }
  void on_step_retracted(std::uint64_t step) noexcept override {
    steps_begun_ = step;
    step_is_open_ = false;
    listener_.on_step_retracted(step);
  }
  std::uint64_t steps_to_pass() const noexcept override { return listener_.steps_to_pass(); }
  void on_steps_passed(std::uint64_t latest) noexcept override {
    steps_begun_ = latest + 1;
    listener_.on_steps_passed(latest);
  }
  void on_locked(const LockReport& report) noexcept override;

  bool locked() const noexcept { return locks_.load(std::memory_order_relaxed) > 0; }
  bool follows_launches() const noexcept {
    return locked() && kind_.load(std::memory_order_relaxed) == LockReport::Kind::launches;
  }
  std::string description() const;

  // For the thread that feeds the detector.
  std::uint64_t steps_begun() const noexcept { return steps_begun_; }
  bool step_is_open() const noexcept { return step_is_open_; }
  std::uint64_t latest_step() const noexcept { return steps_begun_ - 1; }

 private:
  const char* kind_name() const noexcept;

  StepListener& listener_;
  std::uint64_t steps_begun_ = 0;
  bool step_is_open_ = false;
  std::atomic<LockReport::Kind> kind_{};
  std::atomic<std::uint32_t> period_{0};
  std::atomic<std::uint32_t> blocks_{1};
  std::atomic<std::uint64_t> tokens_seen_{0};
  std::atomic<std::uint64_t> step_{0};
  std::atomic<std::uint64_t> locks_{0};
};

}  // namespace traceagent::step
