#include "agent/step/window_keeper.hpp"

#include <algorithm>
#include <utility>

namespace traceagent::step {

using config::Action;
using ring::WindowState;

WindowKeeper::WindowKeeper(ring::Ring ring, const config::Schedule& schedule,
                           std::uint64_t steps_per_epoch)
    : ring_(ring), schedule_(schedule), steps_per_epoch_(steps_per_epoch) {}

void WindowKeeper::watch(const Tracker* tracker, const Watch& watch) noexcept {
  tracker_ = tracker;
  watch_ = watch;
}

void WindowKeeper::tell(StateChanged changed, void* data) noexcept {
  changed_ = changed;
  changed_data_ = data;
}

void WindowKeeper::enter(State state) noexcept {
  const State before = state_.exchange(state, std::memory_order_seq_cst);
  refresh_modes();
  const bool is_other_window = std::exchange(has_opened_, false);
  if ((before != state || is_other_window) && changed_ != nullptr) changed_(changed_data_);
}

void WindowKeeper::leave_out(ClassMask left_out, ClassMask unheard) noexcept {
  left_out_.store(left_out | std::uint64_t{unheard} << 32, std::memory_order_seq_cst);
  refresh_modes();
}

void WindowKeeper::refresh_modes() noexcept {
  State seen;
  std::uint64_t left_out;
  // Again where the state has changed meanwhile: the drain, interrupted in here, would otherwise
  // put back the modes of a state that a step has left, and a window would record nothing.
  do {
    seen = state_.load(std::memory_order_seq_cst);
    left_out = left_out_.load(std::memory_order_seq_cst);
    Watch watch = watch_;
    watch.left_out = static_cast<ClassMask>(left_out);
    watch.unheard = static_cast<ClassMask>(left_out >> 32);
    set_modes(seen, tracker_ != nullptr ? tracker_->interest() : 0, watch);
  } while (seen != state_.load(std::memory_order_seq_cst) ||
           left_out != left_out_.load(std::memory_order_seq_cst));
}

Action WindowKeeper::action_of(std::uint64_t step) const noexcept {
  if (steps_per_epoch_ == 0) return config::action_at(schedule_, step - shift_);
  const std::uint64_t in_epoch = step % steps_per_epoch_;
  // The shift is the first epoch's alone: the others begin with their first step.
  const bool is_shifted = step / steps_per_epoch_ == shifted_epoch_;
  return config::action_at(schedule_, in_epoch - (is_shifted ? shift_ : 0),
                           in_epoch + 1 == steps_per_epoch_);
}

bool WindowKeeper::finished_after(std::uint64_t step) const noexcept {
  return steps_per_epoch_ == 0 && config::never_again(schedule_, step - shift_);
}

namespace {

// Window slots are used in turn; a slot whose window waits to be written is never taken.
ring::Window* take_window_slot(const ring::Ring& ring) noexcept {
  ring::Header& header = ring.header();
  const std::uint32_t number = header.window_count.load(std::memory_order_relaxed);
  ring::Window& window = header.windows[number % ring::window_slots];
  if (ring::is_in_use(window)) return nullptr;
  header.window_count.store(number + 1, std::memory_order_relaxed);
  return &window;
}

void begin_losses(const ring::Ring& ring, ring::Window& window) noexcept {
  window.overwritten.store(0, std::memory_order_relaxed);
  window.device_full.store(0, std::memory_order_relaxed);
  window.id_after.store(0, std::memory_order_relaxed);
  window.device_full_told.store(ring::not_told, std::memory_order_relaxed);
  ring::note_dropped(ring, window.dropped_at_begin);
}

void start(const ring::Ring& ring, ring::Window& window, std::uint32_t cycle, std::uint64_t step,
           std::uint64_t ticks, bool is_startup) noexcept {
  window.cycle = cycle;
  window.file_name = 0;
  window.is_startup = is_startup ? 1 : 0;
  ring::last_correlation_of(ring, window).store(0, std::memory_order_relaxed);
  window.first_step.store(step, std::memory_order_relaxed);
  window.last_step.store(step, std::memory_order_relaxed);
  window.begin_ticks.store(ticks, std::memory_order_relaxed);
  window.end_ticks.store(0, std::memory_order_relaxed);
  begin_losses(ring, window);
  window.state.store(WindowState::open, std::memory_order_release);
}

void close(const ring::Ring& ring, ring::Window& window, std::uint64_t ticks) noexcept {
  ring::note_dropped(ring, window.dropped_at_end);
  window.end_ticks.store(ticks, std::memory_order_relaxed);
  // Release: the drain that sees `closed` sees the window's ticks and steps.
  window.state.store(WindowState::closed, std::memory_order_release);
}

ring::StepEdge& edge_of(const ring::Ring& ring, std::uint64_t step) noexcept {
  return ring.header().steps[step % ring::step_slots];
}

}  // namespace

void WindowKeeper::begin_startup(std::uint64_t ticks) noexcept {
  ring::Window* window = take_window_slot(ring_);
  if (window != nullptr) start(ring_, *window, 0, 0, ticks, true);
  startup_.store(window, std::memory_order_release);
  enter(State::startup);
}

void WindowKeeper::end_kept_startup(std::uint64_t ticks, std::uint32_t why) noexcept {
  ring::Window* window = startup_.load(std::memory_order_acquire);
  if (window == nullptr || window->end_ticks.load(std::memory_order_relaxed) != 0) return;
  window->is_startup = why;
  window->end_ticks.store(ticks, std::memory_order_relaxed);
}

// Slices of time are nothing that the program's beginning should make room for: one that ends
// before the first window, seconds later, has nothing else to show.
void WindowKeeper::on_no_step_found(std::uint64_t ticks) noexcept {
  end_kept_startup(ticks, ring::startup_until_patience);
  keeps_startup_ = true;
}

void WindowKeeper::end_startup(std::uint64_t ticks) noexcept {
  if (state() != State::startup) return;
  end_kept_startup(ticks, ring::startup_until_full);
  // The drain calls this: a step that begins at this very moment has the last word.
  State expected = State::startup;
  if (state_.compare_exchange_strong(expected, State::wait, std::memory_order_seq_cst)) {
    refresh_modes();
  }
}

void WindowKeeper::discard_startup(std::uint64_t ticks) noexcept {
  ring::Window* window = startup_.exchange(nullptr, std::memory_order_acq_rel);
  if (window == nullptr) return;
  window->end_ticks.store(ticks, std::memory_order_relaxed);
  window->state.store(WindowState::written, std::memory_order_release);
}

void WindowKeeper::first_step(std::uint64_t step) noexcept {
  any_step_ = true;
  // Detection needs some steps before it locks. A schedule that wanted one of those begins with
  // the first step that can be had, whole, rather than in its middle.
  const std::uint64_t wanted = config::first_non_skip(schedule_);
  const std::uint64_t in_epoch = steps_per_epoch_ != 0 ? step % steps_per_epoch_ : step;
  shift_ = in_epoch > wanted ? in_epoch - wanted : 0;
  shifted_epoch_ = steps_per_epoch_ != 0 ? step / steps_per_epoch_ : 0;
}

void WindowKeeper::open_window(std::uint64_t step, std::uint64_t ticks) noexcept {
  discard_startup(ticks);
  if (window_ == nullptr) {
    window_ = take_window_slot(ring_);
    if (window_ == nullptr) {  // 64 windows wait to be written
      if (!lacked_slot_) lacked_from_ = step;
      lacked_slot_ = true;
      return;
    }
    start(ring_, *window_, cycle_++, step, ticks, false);
    has_opened_ = true;
  } else if (window_->first_step.load(std::memory_order_relaxed) == step) {
    // The first step was retracted and begins anew.
    window_->begin_ticks.store(ticks, std::memory_order_relaxed);
    begin_losses(ring_, *window_);
  }
  window_->last_step.store(step, std::memory_order_relaxed);
}

// Slices of time are passed over where the drain was kept from its work: the window must not go on
// into the next cycle because the step that ends it never was.
bool WindowKeeper::passed_over_end(std::uint64_t step) const noexcept {
  if (window_ == nullptr) return false;
  const std::uint64_t first = window_->first_step.load(std::memory_order_relaxed);
  const std::uint64_t end = std::min(step, first + schedule_.active);
  for (std::uint64_t passed = latest_step_ + 1; passed < end; ++passed) {
    if (action_of(passed) == Action::active_and_save) return true;
  }
  return false;
}

// Those that end in a step from `from` on and before `step`.
std::uint64_t WindowKeeper::cycles_within(std::uint64_t from, std::uint64_t step) const noexcept {
  if (steps_per_epoch_ == 0) {
    return config::cycles_before(schedule_, step - shift_) -
           config::cycles_before(schedule_, from - shift_);
  }
  std::uint64_t cycles = 0;
  for (; from < step; ++from) cycles += action_of(from) == Action::active_and_save ? 1 : 0;
  return cycles;
}

// The cycles of the slices between the latest step and this one. That of the open window, or of
// the one that had no slot, is not among them.
void WindowKeeper::count_passed_over(std::uint64_t step) noexcept {
  const std::uint64_t from = latest_step_ + 1;
  if (!any_step_ || step <= from) return;
  const bool has_begun = window_ != nullptr || lacked_slot_;
  const std::uint64_t ended = cycles_within(from, step);
  const std::uint64_t lost = ended - (has_begun && ended != 0 ? 1 : 0);
  cycles_lost_.fetch_add(lost, std::memory_order_relaxed);
  cycle_ += static_cast<std::uint32_t>(lost);  // their numbers are missing too
  const bool in_same_cycle = has_begun && ended == 0;
  if (!in_same_cycle && action_of(step - 1) == Action::active) {
    cycles_begun_late_.fetch_add(1, std::memory_order_relaxed);
  }
}

// A schedule without warm-up gets one all the same, in the step before the first active one: other
// threads' calls would be lost while the window opens, seen where the thread that opened it lost
// its core in doing so.
State WindowKeeper::before(std::uint64_t step) const noexcept {
  const Action action = action_of(step);
  const bool is_active = action == Action::active || action == Action::active_and_save;
  return is_active ? State::warmup : State::wait;
}

// Steps of several threads are heard in another order than the clock was read in.
std::uint64_t WindowKeeper::in_order(std::uint64_t ticks) noexcept {
  latest_edge_ticks_ = std::max(latest_edge_ticks_, ticks);
  return latest_edge_ticks_;
}

void WindowKeeper::on_step_begin(std::uint64_t step, std::uint64_t heard_ticks) noexcept {
  if (step < latest_step_) latest_edge_ticks_ = 0;  // counted anew: what was before is of no step
  const std::uint64_t ticks = in_order(heard_ticks);
  if (!keeps_startup_) discard_startup(ticks);
  if (step < latest_step_) lacked_slot_ = false;
  count_passed_over(step);
  // The last step of the cycle was passed over.
  if (lacked_slot_ && step - lacked_from_ >= schedule_.active) count_lacking();
  if (passed_over_end(step)) close_window(latest_step_, ticks);
  // Detection found a longer period (micro batches were no steps) and counts anew from the start:
  // what was recorded under the old numbers is of no step.
  if (any_step_ && step < latest_step_) discard_window(ticks);
  if (!any_step_ || step < latest_step_) first_step(step);
  latest_step_ = step;
  retracted_step_ = no_step;
  ring::StepEdge& edge = edge_of(ring_, step);
  edge.begin_ticks.store(ticks, std::memory_order_relaxed);
  edge.end_ticks.store(0, std::memory_order_relaxed);
  edge.step.store(step, std::memory_order_relaxed);
  ring_.header().step_count.store(step + 1, std::memory_order_release);

  switch (action_of(step)) {
    case Action::skip:
      return enter(finished_after(step) ? State::off : before(step + 1));
    case Action::warmup:
      return enter(State::warmup);
    case Action::active:
    case Action::active_and_save:
      open_window(step, ticks);
      return enter(State::active);
  }
}

// A cycle that had no slot when it began.
void WindowKeeper::count_lacking() noexcept {
  const bool is_begun = window_ != nullptr;
  (is_begun ? cycles_begun_late_ : cycles_lost_).fetch_add(1, std::memory_order_relaxed);
  if (!is_begun) ++cycle_;  // its number is missing too: a gap shows in the files
  lacked_slot_ = false;
}

void WindowKeeper::discard_window(std::uint64_t ticks) noexcept {
  if (window_ == nullptr) return;
  window_->end_ticks.store(ticks, std::memory_order_relaxed);
  window_->state.store(WindowState::written, std::memory_order_release);
  window_ = nullptr;
  --cycle_;
}

void WindowKeeper::close_window(std::uint64_t step, std::uint64_t ticks) noexcept {
  if (window_ == nullptr) return;
  window_->last_step.store(step, std::memory_order_relaxed);
  close(ring_, *window_, ticks);
  window_ = nullptr;
}

void WindowKeeper::on_step_end(std::uint64_t step, std::uint64_t heard_ticks) noexcept {
  const std::uint64_t ticks = in_order(heard_ticks);
  edge_of(ring_, step).end_ticks.store(ticks, std::memory_order_release);
  if (action_of(step) != Action::active_and_save) return;
  if (lacked_slot_) count_lacking();
  close_window(step, ticks);
  if (finished_after(step)) return enter(State::off);
  // Where the next cycle follows at once, recording goes on without a gap.
  enter(action_of(step + 1) == Action::skip ? State::wait : State::warmup);
}

std::uint64_t WindowKeeper::steps_to_pass() const noexcept {
  if (state() != State::wait || window_ != nullptr || lacked_slot_) return 0;
  const std::uint64_t next = latest_step_ + 1;
  const bool has_epochs = steps_per_epoch_ != 0;
  const std::uint64_t in_epoch = has_epochs ? next % steps_per_epoch_ : next;
  if (has_epochs && in_epoch == 0) return 0;  // {epoch_wct} counts from there
  const bool is_shifted = !has_epochs || next / steps_per_epoch_ == shifted_epoch_;
  std::uint64_t skipped = config::skipped_from(schedule_, in_epoch - (is_shifted ? shift_ : 0));
  if (has_epochs) skipped = std::min(skipped, steps_per_epoch_ - in_epoch);
  // The last one may be the warm-up of a schedule without, the one before tells when what follows
  // has begun.
  constexpr std::uint64_t told = 2;
  return skipped > told ? skipped - told : 0;
}

void WindowKeeper::on_steps_passed(std::uint64_t latest) noexcept {
  latest_step_ = latest;
  retracted_step_ = no_step;
  // Of one that has no times there is nothing to be shown.
  ring::StepEdge& edge = edge_of(ring_, latest);
  edge.begin_ticks.store(0, std::memory_order_relaxed);
  edge.end_ticks.store(0, std::memory_order_relaxed);
  edge.step.store(latest, std::memory_order_relaxed);
  ring_.header().step_count.store(latest + 1, std::memory_order_release);
}

void WindowKeeper::on_step_retracted(std::uint64_t step) noexcept {
  ring_.header().step_count.store(step, std::memory_order_release);
  edge_of(ring_, step).step.store(no_step, std::memory_order_relaxed);
  retracted_step_ = step;
  // Its window, if it had begun with this step, waits with its slot for the next try.
  if (window_ != nullptr && window_->first_step.load(std::memory_order_relaxed) < step) {
    window_->last_step.store(step - 1, std::memory_order_relaxed);
  }
}

void WindowKeeper::finish(std::uint64_t ticks) noexcept {
  if (lacked_slot_) count_lacking();
  if (window_ != nullptr &&
      window_->first_step.load(std::memory_order_relaxed) == retracted_step_) {
    discard_window(ticks);
  } else if (window_ != nullptr) {
    close_window(window_->last_step.load(std::memory_order_relaxed), ticks);
  } else if (ring::Window* window = startup_.exchange(nullptr, std::memory_order_acq_rel)) {
    const std::uint64_t full_at = window->end_ticks.load(std::memory_order_relaxed);
    close(ring_, *window, full_at != 0 ? full_at : ticks);
  }
  enter(State::off);
}

}  // namespace traceagent::step
