#pragma once
// Turns steps into windows by the schedule: OFF → WAIT → WARMUP → ACTIVE, and the table of windows
// in the ring, by which the drain knows which records to write.

#include <atomic>
#include <cstdint>

#include "agent/ring/ring.hpp"
#include "agent/step/state.hpp"
#include "agent/step/tracker.hpp"
#include "config/schedule.hpp"

namespace traceagent::step {

class WindowKeeper final : public StepListener {
 public:
  // `steps_per_epoch` 0: unknown, the schedule counts all steps. Otherwise it begins again with
  // every epoch, as Composer's does.
  WindowKeeper(ring::Ring ring, const config::Schedule& schedule, std::uint64_t steps_per_epoch);

  // Opens the startup window: what comes before the first step, kept if no step is ever found.
  void begin_startup(std::uint64_t ticks) noexcept;
  // The startup window has had its share of the ring: recording waits for the first step.
  void end_startup(std::uint64_t ticks) noexcept;

  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override;
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override;
  void on_step_retracted(std::uint64_t step) noexcept override;
  // None but while it waits.
  std::uint64_t steps_to_pass() const noexcept override;
  void on_steps_passed(std::uint64_t latest) noexcept override;

  void on_no_step_found(std::uint64_t ticks) noexcept override;

  // The process ends: closes what is open, and says if it was a window of steps.
  void finish(std::uint64_t ticks) noexcept;

  State state() const noexcept { return state_.load(std::memory_order_relaxed); }
  // Modes for the present state: called at transitions and by the drain's poll, because a lock of
  // the step detection changes what must be observed.
  void refresh_modes() noexcept;
  void watch(const Tracker* tracker, const Watch& watch) noexcept;
  // By the drain: what is left out from now on, see Watch.
  void leave_out(ClassMask left_out, ClassMask unheard) noexcept;

  // Called with `data` whenever a step changes the state, or one window follows another without
  // that, in the thread of the job that made the step: a system call or some. Set before the first
  // step.
  using StateChanged = void (*)(void* data) noexcept;
  void tell(StateChanged changed, void* data) noexcept;

  // Steps by which the schedule was moved, because detection locked after its first step.
  std::uint64_t schedule_shift() const noexcept { return shift_; }
  // Cycles not recorded because 64 windows waited to be written, or because slices of time were
  // over before the drain had its turn.
  std::uint64_t cycles_lost() const noexcept {
    return cycles_lost_.load(std::memory_order_relaxed);
  }
  // Those that were recorded, but not from their first step, for the same reasons.
  std::uint64_t cycles_begun_late() const noexcept {
    return cycles_begun_late_.load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t in_order(std::uint64_t ticks) noexcept;
  static constexpr std::uint64_t no_step = UINT64_MAX;

  void enter(State state) noexcept;
  config::Action action_of(std::uint64_t step) const noexcept;
  bool finished_after(std::uint64_t step) const noexcept;
  bool passed_over_end(std::uint64_t step) const noexcept;
  std::uint64_t cycles_within(std::uint64_t from, std::uint64_t step) const noexcept;
  void count_passed_over(std::uint64_t step) noexcept;
  State before(std::uint64_t step) const noexcept;
  void first_step(std::uint64_t step) noexcept;
  void open_window(std::uint64_t step, std::uint64_t ticks) noexcept;
  void close_window(std::uint64_t step, std::uint64_t ticks) noexcept;
  void count_lacking() noexcept;
  void end_kept_startup(std::uint64_t ticks, std::uint32_t why) noexcept;
  void discard_startup(std::uint64_t ticks) noexcept;
  void discard_window(std::uint64_t ticks) noexcept;

  ring::Ring ring_;
  const config::Schedule schedule_;
  const std::uint64_t steps_per_epoch_;
  const Tracker* tracker_ = nullptr;
  Watch watch_;
  std::atomic<std::uint64_t> left_out_{0};  // left_out, and unheard in the upper half
  StateChanged changed_ = nullptr;
  void* changed_data_ = nullptr;
  std::atomic<State> state_{State::off};
  ring::Window* window_ = nullptr;               // the open one
  std::atomic<ring::Window*> startup_{nullptr};  // while it lasts
  std::uint64_t shift_ = 0;
  std::uint64_t shifted_epoch_ = 0;
  std::uint64_t latest_step_ = 0;
  std::uint64_t latest_edge_ticks_ = 0;
  bool has_opened_ = false;   // a window, which is to be told
  bool lacked_slot_ = false;  // in this cycle, from lacked_from_ on
  std::uint64_t lacked_from_ = 0;
  std::atomic<std::uint64_t> cycles_lost_{0};
  std::atomic<std::uint64_t> cycles_begun_late_{0};
  std::uint32_t cycle_ = 0;
  std::uint64_t retracted_step_ = no_step;  // until it begins again
  bool any_step_ = false;
  bool keeps_startup_ = false;  // until a window opens: the program may end before
};

}  // namespace traceagent::step
